package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"sort"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/emptypb"

	pb "dubbo-rust/interop/go/gen/interopv1"
	"dubbo-rust/interop/go/internal/impl"
)

// greeter does what the contract asks for.
type greeter struct {
	// notice is told of the calls that are held.
	notice func(impl.Notice)
}

// description is what protoc-gen-go-grpc would make of the contract.
var description = grpc.ServiceDesc{
	ServiceName: "dubbo.interop.v1.Greeter",
	HandlerType: (*any)(nil),
	Metadata:    "dubbo/interop/v1/interop.proto",
	Methods: []grpc.MethodDesc{
		unary("Greet", (*greeter).greet),
		unary("lowerCase", (*greeter).lowerCase),
		unary("Echo", echo[pb.EchoMessage]),
		unary("Ping", echo[pb.PingMessage]),
		unary("Fail", (*greeter).fail),
		unary("Sleep", (*greeter).sleep),
		unary("BigPayload", (*greeter).bigPayload),
		unary("Attachments", (*greeter).attachments),
	},
	Streams: []grpc.StreamDesc{
		{StreamName: "GreetServerStream", Handler: streaming((*greeter).serverStream), ServerStreams: true},
		{StreamName: "GreetClientStream", Handler: streaming((*greeter).clientStream), ClientStreams: true},
		{StreamName: "GreetBidi", Handler: streaming((*greeter).bidi), ServerStreams: true, ClientStreams: true},
	},
}

func unary[Req, Resp any](name string, f func(*greeter, context.Context, *Req) (*Resp, error)) grpc.MethodDesc {
	handler := func(srv any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (out any, err error) {
		// grpc-go lets a panic end the whole program.
		defer func() {
			if p := recover(); p != nil {
				err = status.Errorf(codes.Internal, "panicked: %v", p)
			}
		}()
		in := new(Req)
		if err := decode(in); err != nil {
			return nil, err
		}
		return f(srv.(*greeter), ctx, in)
	}
	return grpc.MethodDesc{MethodName: name, Handler: handler}
}

// streaming sends the name of the case back as a trailer.
func streaming(f func(*greeter, grpc.ServerStream) error) grpc.StreamHandler {
	return func(srv any, s grpc.ServerStream) error {
		s.SetTrailer(metadata.Pairs(impl.CaseKey, caseOf(s.Context())))
		return f(srv.(*greeter), s)
	}
}

func (*greeter) greet(_ context.Context, r *pb.GreetRequest) (*pb.GreetResponse, error) {
	return &pb.GreetResponse{Greeting: "hello " + r.GetName()}, nil
}

func (*greeter) lowerCase(_ context.Context, r *pb.GreetRequest) (*pb.GreetResponse, error) {
	return &pb.GreetResponse{Greeting: "lower " + r.GetName()}, nil
}

func echo[M any](_ *greeter, _ context.Context, m *M) (*M, error) { return m, nil }

func (g *greeter) fail(ctx context.Context, r *pb.FailRequest) (*emptypb.Empty, error) {
	switch r.GetKind() {
	case pb.FailRequest_PLAIN:
		return nil, errors.New(r.GetMessage())
	case pb.FailRequest_PANIC:
		panic(r.GetMessage())
	case pb.FailRequest_CONTEXT:
		return nil, g.hold(ctx, "Fail").wait(time.Hour)
	}
	s := status.New(codes.Code(r.GetCode()), r.GetMessage())
	var details []protoadapt.MessageV1
	for i, text := range r.GetDetails() {
		details = append(details, protoadapt.MessageV1Of(&pb.FailDetail{Text: text, Index: int32(i)}))
	}
	s, err := s.WithDetails(details...)
	if err != nil {
		return nil, err
	}
	return nil, s.Err()
}

func (g *greeter) sleep(ctx context.Context, r *pb.SleepRequest) (*pb.SleepResponse, error) {
	if err := g.hold(ctx, "Sleep").wait(time.Duration(r.GetMillis()) * time.Millisecond); err != nil {
		return nil, err
	}
	return &pb.SleepResponse{SleptMillis: r.GetMillis()}, nil
}

func (*greeter) bigPayload(_ context.Context, r *pb.BigPayloadRequest) (*pb.BigPayloadResponse, error) {
	return &pb.BigPayloadResponse{Payload: impl.Pattern(int(r.GetResponseSize())), Received: int32(len(r.GetPayload()))}, nil
}

func (*greeter) attachments(ctx context.Context, r *pb.AttachmentsRequest) (*pb.AttachmentsResponse, error) {
	resp := &pb.AttachmentsResponse{}
	md, _ := metadata.FromIncomingContext(ctx)
	for k, values := range md {
		for _, v := range values {
			if strings.HasSuffix(k, "-bin") {
				v = base64.RawStdEncoding.EncodeToString([]byte(v))
			}
			resp.Seen = append(resp.Seen, &pb.Attachment{Key: k, Value: strings.ToValidUTF8(v, "?")})
		}
	}
	sort.SliceStable(resp.Seen, func(i, j int) bool { return resp.Seen[i].Key < resp.Seen[j].Key })
	reply := metadata.MD{}
	for _, a := range r.GetReply() {
		v := a.GetValue()
		if strings.HasSuffix(a.GetKey(), "-bin") {
			b, err := base64.RawStdEncoding.DecodeString(v)
			if err != nil {
				return nil, status.Error(codes.InvalidArgument, err.Error())
			}
			v = string(b)
		}
		reply.Append(a.GetKey(), v)
	}
	set := grpc.SetTrailer
	if r.GetAsHeader() {
		set = grpc.SetHeader
	}
	if err := set(ctx, reply); err != nil {
		return nil, err
	}
	return resp, nil
}

func (g *greeter) serverStream(s grpc.ServerStream) error {
	r := &pb.GreetRequest{}
	if err := s.RecvMsg(r); err != nil {
		return err
	}
	held := g.hold(s.Context(), "GreetServerStream")
	for i := int32(0); i < r.GetCount(); i++ {
		if r.GetFailAfter() > 0 && i == r.GetFailAfter() {
			return asAsked(r.GetFailCode())
		}
		if d := r.GetDelayMillis(); d > 0 {
			if err := held.wait(time.Duration(d) * time.Millisecond); err != nil {
				return err
			}
		}
		if err := s.SendMsg(&pb.GreetResponse{Greeting: fmt.Sprintf("hello %s #%d", r.GetName(), i), Seq: i}); err != nil {
			return err
		}
	}
	return nil
}

func (g *greeter) clientStream(s grpc.ServerStream) error {
	held := g.hold(s.Context(), "GreetClientStream")
	var names []string
	for {
		r := &pb.GreetRequest{}
		if err := s.RecvMsg(r); errors.Is(err, io.EOF) {
			return s.SendMsg(&pb.GreetResponse{Greeting: "hello " + strings.Join(names, ","), Seq: int32(len(names))})
		} else if err != nil {
			held.cutShort()
			return err
		}
		if r.GetName() == "fail" {
			return asAsked(r.GetFailCode())
		}
		names = append(names, r.GetName())
	}
}

func (g *greeter) bidi(s grpc.ServerStream) error {
	held := g.hold(s.Context(), "GreetBidi")
	for i := int32(0); ; i++ {
		r := &pb.GreetRequest{}
		if err := s.RecvMsg(r); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			held.cutShort()
			return err
		}
		if r.GetName() == "fail" {
			return asAsked(r.GetFailCode())
		}
		if err := s.SendMsg(&pb.GreetResponse{Greeting: "hello " + r.GetName(), Seq: i}); err != nil {
			return err
		}
	}
}

func asAsked(code int32) error { return status.Error(codes.Code(code), "stream failed as asked") }

func caseOf(ctx context.Context) string {
	return strings.Join(metadata.ValueFromIncomingContext(ctx, impl.CaseKey), ",")
}

// held is a call that waits.
type held struct {
	notice func(impl.Notice)
	ctx    context.Context
	n      impl.Notice
	start  time.Time
}

func (g *greeter) hold(ctx context.Context, method string) held {
	h := held{g.notice, ctx, impl.Notice{Event: "held", Case: caseOf(ctx), Method: method}, time.Now()}
	g.notice(h.n)
	return h
}

// wait returns early, with the context's error, when the call is cut short.
func (h held) wait(d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-h.ctx.Done():
		h.cutShort()
		return status.FromContextError(h.ctx.Err()).Err()
	}
}

func (h held) cutShort() {
	h.n.Event, h.n.Millis = "cut_short", time.Since(h.start).Milliseconds()
	h.notice(h.n)
}
