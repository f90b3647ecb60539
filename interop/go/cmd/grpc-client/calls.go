package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"sort"
	"strings"
	"time"

	"google.golang.org/grpc"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	pb "dubbo-rust/interop/go/gen/interopv1"
	"dubbo-rust/interop/go/internal/impl"
)

type call = func(context.Context, *grpc.ClientConn) (any, error)

const (
	greeter = "/dubbo.interop.v1.Greeter/"
	// No call without a shorter deadline may take longer.
	defaultTimeout = 3 * time.Second
)

// greet calls a method that has the messages of Greet, or does not exist.
func greet(path, name string, opts ...grpc.CallOption) call {
	return within(defaultTimeout, func(ctx context.Context, conn *grpc.ClientConn) (any, error) {
		out := &pb.GreetResponse{}
		err := conn.Invoke(ctx, path, &pb.GreetRequest{Name: name}, out, opts...)
		return answer(out.GetGreeting(), err)
	})
}

func echo(in *pb.EchoMessage) call {
	return within(defaultTimeout, func(ctx context.Context, conn *grpc.ClientConn) (any, error) {
		out := &pb.EchoMessage{}
		err := conn.Invoke(ctx, greeter+"Echo", in, out)
		switch {
		case err != nil:
			return nil, err
		case proto.Equal(in, out):
			return "equal", nil
		default:
			return asJSON(out), nil
		}
	})
}

func fail(timeout time.Duration, in *pb.FailRequest) call {
	return within(timeout, func(ctx context.Context, conn *grpc.ClientConn) (any, error) {
		return answer("no error", conn.Invoke(ctx, greeter+"Fail", in, &emptypb.Empty{}))
	})
}

func sleep(timeout time.Duration, millis int64) call {
	return within(timeout, func(ctx context.Context, conn *grpc.ClientConn) (any, error) {
		out := &pb.SleepResponse{}
		err := conn.Invoke(ctx, greeter+"Sleep", &pb.SleepRequest{Millis: millis}, out)
		return answer(out.GetSleptMillis(), err)
	})
}

func big(request, response int, opts ...grpc.CallOption) call {
	return within(4*defaultTimeout, func(ctx context.Context, conn *grpc.ClientConn) (any, error) {
		in := &pb.BigPayloadRequest{Payload: impl.Pattern(request), ResponseSize: int32(response)}
		out := &pb.BigPayloadResponse{}
		if err := conn.Invoke(ctx, greeter+"BigPayload", in, out, opts...); err != nil {
			return nil, err
		}
		asAsked := bytes.Equal(out.GetPayload(), impl.Pattern(response))
		return map[string]any{"received": out.GetReceived(), "as_asked": asAsked}, nil
	})
}

func within(d time.Duration, f call) call {
	return func(ctx context.Context, conn *grpc.ClientConn) (any, error) {
		ctx, stop := context.WithTimeout(ctx, d)
		defer stop()
		return f(ctx, conn)
	}
}

func cancelledAfter(d time.Duration, f call) call {
	return func(ctx context.Context, conn *grpc.ClientConn) (any, error) {
		ctx, stop := context.WithCancel(ctx)
		defer time.AfterFunc(d, stop).Stop()
		return f(ctx, conn)
	}
}

// sending adds metadata to the calls of f.
func sending(pairs []string, f call) call {
	return func(ctx context.Context, conn *grpc.ClientConn) (any, error) {
		return f(metadata.AppendToOutgoingContext(ctx, pairs...), conn)
	}
}

// attachments gives what the provider saw, and what it sent back as it was asked to.
func attachments(in *pb.AttachmentsRequest) call {
	return within(defaultTimeout, func(ctx context.Context, conn *grpc.ClientConn) (any, error) {
		var header, trailer metadata.MD
		out := &pb.AttachmentsResponse{}
		err := conn.Invoke(ctx, greeter+"Attachments", in, out, grpc.Header(&header), grpc.Trailer(&trailer))
		if err != nil {
			return nil, err
		}
		seen := []string{}
		for _, a := range out.GetSeen() {
			seen = append(seen, a.GetKey()+": "+a.GetValue())
		}
		return map[string]any{"seen": seen, "header": lines(header), "trailer": lines(trailer)}, nil
	})
}

func health(service string) call {
	return within(defaultTimeout, func(ctx context.Context, conn *grpc.ClientConn) (any, error) {
		r, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{Service: service})
		return answer(r.GetStatus().String(), err)
	})
}

// healthWatch reports the first status only.
func healthWatch(service string) call {
	return within(defaultTimeout, func(ctx context.Context, conn *grpc.ClientConn) (any, error) {
		s, err := healthpb.NewHealthClient(conn).Watch(ctx, &healthpb.HealthCheckRequest{Service: service})
		if err != nil {
			return nil, err
		}
		r, err := s.Recv()
		return answer(r.GetStatus().String(), err)
	})
}

// stream opens one of the streaming methods.
func stream(ctx context.Context, conn *grpc.ClientConn, method string) (grpc.ClientStream, error) {
	desc := &grpc.StreamDesc{
		ServerStreams: method != "GreetClientStream",
		ClientStreams: method != "GreetServerStream",
	}
	return conn.NewStream(ctx, desc, greeter+method)
}

func serverStream(in *pb.GreetRequest) call {
	return within(defaultTimeout, func(ctx context.Context, conn *grpc.ClientConn) (any, error) {
		items := []string{}
		s, err := startServerStream(ctx, conn, in)
		if err != nil {
			return items, err
		}
		for {
			r := &pb.GreetResponse{}
			if err := s.RecvMsg(r); errors.Is(err, io.EOF) {
				return items, nil
			} else if err != nil {
				return items, err
			}
			items = append(items, r.GetGreeting())
		}
	})
}

func startServerStream(ctx context.Context, conn *grpc.ClientConn, in *pb.GreetRequest) (grpc.ClientStream, error) {
	s, err := stream(ctx, conn, "GreetServerStream")
	if err != nil {
		return nil, err
	}
	if err := s.SendMsg(in); err != nil {
		return nil, err
	}
	return s, s.CloseSend()
}

func clientStream(code int32, names ...string) call {
	return within(defaultTimeout, func(ctx context.Context, conn *grpc.ClientConn) (any, error) {
		s, err := stream(ctx, conn, "GreetClientStream")
		if err != nil {
			return nil, err
		}
		for _, n := range names {
			// After the end of the call RecvMsg has the reason.
			if err := s.SendMsg(&pb.GreetRequest{Name: n, FailCode: code}); err != nil && !errors.Is(err, io.EOF) {
				return nil, err
			}
		}
		if err := s.CloseSend(); err != nil {
			return nil, err
		}
		r := &pb.GreetResponse{}
		if err := s.RecvMsg(r); err != nil {
			return nil, err
		}
		return map[string]any{"greeting": r.GetGreeting(), "seq": r.GetSeq()}, nil
	})
}

// bidi sends the next name when the last one is answered.
func bidi(code int32, names ...string) call {
	return within(defaultTimeout, func(ctx context.Context, conn *grpc.ClientConn) (any, error) {
		items := []string{}
		s, err := stream(ctx, conn, "GreetBidi")
		if err != nil {
			return items, err
		}
		for _, n := range names {
			if err := s.SendMsg(&pb.GreetRequest{Name: n, FailCode: code}); err != nil {
				return items, err
			}
			r := &pb.GreetResponse{}
			if err := s.RecvMsg(r); err != nil {
				return items, err
			}
			items = append(items, r.GetGreeting())
		}
		if err := s.CloseSend(); err != nil {
			return items, err
		}
		if err := s.RecvMsg(&pb.GreetResponse{}); !errors.Is(err, io.EOF) {
			return items, fmt.Errorf("no end of the stream: %w", err)
		}
		return items, nil
	})
}

// trailers of a stream with one request, read to its end.
func trailers(method string) call {
	return within(defaultTimeout, func(ctx context.Context, conn *grpc.ClientConn) (any, error) {
		s, err := stream(ctx, conn, method)
		if err != nil {
			return nil, err
		}
		if err := s.SendMsg(&pb.GreetRequest{Name: "a", Count: 1}); err != nil {
			return nil, err
		}
		if err := s.CloseSend(); err != nil {
			return nil, err
		}
		for {
			if err := s.RecvMsg(&pb.GreetResponse{}); errors.Is(err, io.EOF) {
				return lines(s.Trailer()), nil
			} else if err != nil {
				return nil, err
			} else if method == "GreetClientStream" {
				// With one answer the end comes along with it.
				return lines(s.Trailer()), nil
			}
		}
	})
}

// lastOf keeps the number of items and the last one.
func lastOf(f call) call {
	return func(ctx context.Context, conn *grpc.ClientConn) (any, error) {
		got, err := f(ctx, conn)
		items, _ := got.([]string)
		if len(items) == 0 {
			return nil, err
		}
		return map[string]any{"count": len(items), "last": items[len(items)-1]}, err
	}
}

// cancelServerStream cancels after two of a hundred items.
func cancelServerStream(ctx context.Context, conn *grpc.ClientConn) (any, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	s, err := startServerStream(ctx, conn, &pb.GreetRequest{Name: "x", Count: 100, DelayMillis: 50})
	if err != nil {
		return nil, err
	}
	for n := 0; ; n++ {
		if n == 2 {
			stop()
		}
		if err := s.RecvMsg(&pb.GreetResponse{}); err != nil {
			return n, err
		}
	}
}

// cancelClientStream cancels after one request, while the provider waits for more.
func cancelClientStream(ctx context.Context, conn *grpc.ClientConn) (any, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	s, err := stream(ctx, conn, "GreetClientStream")
	if err != nil {
		return nil, err
	}
	if err := s.SendMsg(&pb.GreetRequest{Name: "a"}); err != nil {
		return nil, err
	}
	time.Sleep(200 * time.Millisecond)
	stop()
	return nil, s.RecvMsg(&pb.GreetResponse{})
}

// cancelBidi cancels after one answer, while the provider waits for the next request.
func cancelBidi(ctx context.Context, conn *grpc.ClientConn) (any, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	s, err := stream(ctx, conn, "GreetBidi")
	if err != nil {
		return nil, err
	}
	if err := s.SendMsg(&pb.GreetRequest{Name: "a"}); err != nil {
		return nil, err
	}
	r := &pb.GreetResponse{}
	if err := s.RecvMsg(r); err != nil {
		return nil, err
	}
	stop()
	return []string{r.GetGreeting()}, s.RecvMsg(&pb.GreetResponse{})
}

// answer leaves out what a failed call only seems to give.
func answer[T any](got T, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return got, nil
}

// lines are metadata as "name: value", sorted by name; binary values as they are on the wire.
func lines(md metadata.MD) []string {
	out := []string{}
	for name, values := range md {
		for _, v := range values {
			if strings.HasSuffix(name, "-bin") {
				v = base64.RawStdEncoding.EncodeToString([]byte(v))
			}
			out = append(out, name+": "+v)
		}
	}
	sort.SliceStable(out, func(i, j int) bool {
		a, _, _ := strings.Cut(out[i], ":")
		b, _, _ := strings.Cut(out[j], ":")
		return a < b
	})
	return out
}
