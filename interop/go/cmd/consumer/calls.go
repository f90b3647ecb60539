package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sort"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"dubbo.apache.org/dubbo-go/v3/client"
	hpb "dubbo.apache.org/dubbo-go/v3/protocol/triple/health/triple_health"

	pb "dubbo-rust/interop/go/gen/interopv1"
	"dubbo-rust/interop/go/internal/impl"
)

type call = func(context.Context, *env) (any, error)

func greet(name string) call {
	return func(ctx context.Context, e *env) (any, error) {
		g, err := e.greeter()
		if err != nil {
			return nil, err
		}
		r, err := g.Greet(ctx, &pb.GreetRequest{Name: name})
		return answer(r.GetGreeting(), err)
	}
}

func greetWith(ref reference) call {
	return func(ctx context.Context, e *env) (any, error) {
		g, err := e.refer(ref)
		if err != nil {
			return nil, err
		}
		r, err := g.Greet(ctx, &pb.GreetRequest{Name: "dubbo"})
		return answer(r.GetGreeting(), err)
	}
}

// callGreet calls a method that may not exist, with the messages of Greet.
func callGreet(service, method string) call {
	return func(ctx context.Context, e *env) (any, error) {
		c, err := e.conn(service, method)
		if err != nil {
			return nil, err
		}
		r := &pb.GreetResponse{}
		err = c.CallUnary(ctx, []any{&pb.GreetRequest{Name: "dubbo"}}, r, method)
		return answer(r.GetGreeting(), err)
	}
}

func echo(in *pb.EchoMessage) call {
	return func(ctx context.Context, e *env) (any, error) {
		g, err := e.greeter()
		if err != nil {
			return nil, err
		}
		out, err := g.Echo(ctx, in)
		switch {
		case err != nil:
			return nil, err
		case proto.Equal(in, out):
			return "equal", nil
		default:
			return asJSON(out), nil
		}
	}
}

func fail(r *pb.FailRequest) call { return failWith(reference{}, r) }

func failWith(ref reference, r *pb.FailRequest) call {
	return func(ctx context.Context, e *env) (any, error) {
		g, err := e.refer(ref)
		if err != nil {
			return nil, err
		}
		_, err = g.Fail(ctx, r)
		return answer("no error", err)
	}
}

func sleep(ref reference, millis int64, opts ...client.CallOption) call {
	return func(ctx context.Context, e *env) (any, error) {
		g, err := e.refer(ref)
		if err != nil {
			return nil, err
		}
		r, err := g.Sleep(ctx, &pb.SleepRequest{Millis: millis}, opts...)
		return answer(r.GetSleptMillis(), err)
	}
}

func within(d time.Duration, f call) call {
	return func(ctx context.Context, e *env) (any, error) {
		ctx, stop := context.WithTimeout(ctx, d)
		defer stop()
		return f(ctx, e)
	}
}

func cancelledAfter(d time.Duration, f call) call {
	return func(ctx context.Context, e *env) (any, error) {
		ctx, stop := context.WithCancel(ctx)
		defer time.AfterFunc(d, stop).Stop()
		return f(ctx, e)
	}
}

func serverStream(req *pb.GreetRequest) call {
	return func(ctx context.Context, e *env) (any, error) {
		items, _, err := runServerStream(ctx, e, req)
		return items, err
	}
}

func serverStreamTrailer(ctx context.Context, e *env) (any, error) {
	_, trailer, err := runServerStream(ctx, e, &pb.GreetRequest{Name: "dubbo", Count: 1})
	return lines(trailer), err
}

func runServerStream(ctx context.Context, e *env, req *pb.GreetRequest) ([]string, http.Header, error) {
	g, err := e.greeter()
	if err != nil {
		return nil, nil, err
	}
	s, err := g.GreetServerStream(ctx, req)
	if err != nil {
		return nil, nil, err
	}
	items := []string{}
	for s.Recv() {
		items = append(items, s.Msg().GetGreeting())
	}
	err = s.Err()
	_ = s.Close()
	return items, s.ResponseTrailer(), err
}

func clientStream(names ...string) call {
	return func(ctx context.Context, e *env) (any, error) {
		r, _, err := runClientStream(ctx, e, 0, names)
		if err != nil {
			return nil, err
		}
		return map[string]any{"greeting": r.GetGreeting(), "seq": r.GetSeq()}, nil
	}
}

func clientStreamFail(ctx context.Context, e *env) (any, error) {
	r, _, err := runClientStream(ctx, e, 7, []string{"a", "fail"})
	return answer(r.GetGreeting(), err)
}

func clientStreamTrailer(ctx context.Context, e *env) (any, error) {
	_, trailer, err := runClientStream(ctx, e, 0, []string{"a"})
	return lines(trailer), err
}

func runClientStream(ctx context.Context, e *env, code int32, names []string) (*pb.GreetResponse, http.Header, error) {
	g, err := e.greeter()
	if err != nil {
		return nil, nil, err
	}
	s, err := g.GreetClientStream(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, n := range names {
		if err := s.Send(&pb.GreetRequest{Name: n, FailCode: code}); err != nil {
			return nil, nil, err
		}
	}
	r, err := s.CloseAndRecv()
	return r, s.ResponseTrailer(), err
}

func bidi(code int32, names ...string) call {
	return func(ctx context.Context, e *env) (any, error) {
		items, _, err := runBidi(ctx, e, code, names)
		return items, err
	}
}

func bidiTrailer(ctx context.Context, e *env) (any, error) {
	_, trailer, err := runBidi(ctx, e, 0, []string{"a"})
	return lines(trailer), err
}

// runBidi sends the next name when the last one is answered.
func runBidi(ctx context.Context, e *env, code int32, names []string) ([]string, http.Header, error) {
	g, err := e.greeter()
	if err != nil {
		return nil, nil, err
	}
	s, err := g.GreetBidi(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = s.CloseResponse() }()
	items := []string{}
	for _, n := range names {
		if err := s.Send(&pb.GreetRequest{Name: n, FailCode: code}); err != nil {
			return items, nil, err
		}
		r, err := s.Recv()
		if err != nil {
			_ = s.CloseRequest()
			return items, nil, err
		}
		items = append(items, r.GetGreeting())
	}
	if err := s.CloseRequest(); err != nil {
		return items, nil, err
	}
	if _, err = s.Recv(); !errors.Is(err, io.EOF) {
		return items, nil, fmt.Errorf("no end of the stream: %w", err)
	}
	return items, s.ResponseTrailer(), nil
}

// lastOf keeps the number of items and the last one.
func lastOf(f call) call {
	return func(ctx context.Context, e *env) (any, error) {
		got, err := f(ctx, e)
		items, _ := got.([]string)
		if len(items) == 0 {
			return nil, err
		}
		return map[string]any{"count": len(items), "last": items[len(items)-1]}, err
	}
}

// cancelServerStream cancels after two of a hundred items.
func cancelServerStream(ctx context.Context, e *env) (any, error) {
	g, err := e.greeter()
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	s, err := g.GreetServerStream(ctx, &pb.GreetRequest{Name: "x", Count: 100, DelayMillis: 50})
	if err != nil {
		return nil, err
	}
	n := 0
	for s.Recv() {
		if n++; n == 2 {
			stop()
		}
	}
	err = s.Err()
	_ = s.Close()
	return n, err
}

// cancelClientStream cancels after one request, while the provider waits for more.
func cancelClientStream(ctx context.Context, e *env) (any, error) {
	g, err := e.greeter()
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	s, err := g.GreetClientStream(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.Send(&pb.GreetRequest{Name: "a"}); err != nil {
		return nil, err
	}
	time.Sleep(200 * time.Millisecond)
	stop()
	// Else the end of the requests may reach the provider before the cancellation does.
	time.Sleep(50 * time.Millisecond)
	_, err = s.CloseAndRecv()
	return nil, err
}

// cancelBidi cancels after one answer, while the provider waits for the next request.
func cancelBidi(ctx context.Context, e *env) (any, error) {
	g, err := e.greeter()
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	s, err := g.GreetBidi(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.Send(&pb.GreetRequest{Name: "a"}); err != nil {
		return nil, err
	}
	r, err := s.Recv()
	if err != nil {
		return nil, err
	}
	stop()
	_, err = s.Recv()
	return []string{r.GetGreeting()}, err
}

func big(request, response int) call {
	return func(ctx context.Context, e *env) (any, error) {
		g, err := e.refer(patient)
		if err != nil {
			return nil, err
		}
		r, err := g.BigPayload(ctx, &pb.BigPayloadRequest{Payload: impl.Pattern(request), ResponseSize: int32(response)})
		if err != nil {
			return nil, err
		}
		return map[string]any{"received": r.GetReceived(), "as_asked": bytes.Equal(r.GetPayload(), impl.Pattern(response))}, nil
	}
}

func attachments(ctx context.Context, e *env, req *pb.AttachmentsRequest) (any, error) {
	g, err := e.greeter()
	if err != nil {
		return nil, err
	}
	var header, trailer http.Header
	r, err := g.Attachments(ctx, req, client.WithResponseHeader(&header), client.WithResponseTrailer(&trailer))
	if err != nil {
		return nil, err
	}
	seen := []string{}
	for _, a := range r.GetSeen() {
		seen = append(seen, a.GetKey()+": "+a.GetValue())
	}
	return map[string]any{"seen": seen, "header": lines(header), "trailer": lines(trailer)}, nil
}

func health(service string) call {
	return func(ctx context.Context, e *env) (any, error) {
		h, err := e.health()
		if err != nil {
			return nil, err
		}
		r, err := h.Check(ctx, &hpb.HealthCheckRequest{Service: service})
		return answer(r.GetStatus().String(), err)
	}
}

// healthWatch reports the first status only.
func healthWatch(service string) call {
	return func(ctx context.Context, e *env) (any, error) {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		next, err := watch(ctx, e, service)
		if err != nil {
			return nil, err
		}
		return next()
	}
}

func watch(ctx context.Context, e *env, service string) (func() (any, error), error) {
	h, err := e.health()
	if err != nil {
		return nil, err
	}
	s, err := h.Watch(ctx, &hpb.HealthCheckRequest{Service: service})
	if err != nil {
		return nil, err
	}
	return func() (any, error) {
		if !s.Recv() {
			return nil, s.Err()
		}
		return s.Msg().GetStatus().String(), nil
	}, nil
}

// answer leaves out what a failed call only seems to give.
func answer[T any](got T, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return got, nil
}

// lines are a header's fields as "name: value" with lower-case names, sorted by name.
func lines(h http.Header) []string {
	out := []string{}
	for name, values := range h {
		for _, v := range values {
			out = append(out, strings.ToLower(name)+": "+v)
		}
	}
	sort.SliceStable(out, func(i, j int) bool {
		a, _, _ := strings.Cut(out[i], ":")
		b, _, _ := strings.Cut(out[j], ":")
		return a < b
	})
	return out
}
