package stub

import (
	"context"
	"net/http"
	"reflect"

	"dubbo.apache.org/dubbo-go/v3/client"
	"dubbo.apache.org/dubbo-go/v3/common"
	"dubbo.apache.org/dubbo-go/v3/common/constant"
	tri "dubbo.apache.org/dubbo-go/v3/protocol/triple/triple_protocol"
)

// In this file S is the type sent and R the type received, Q the type of a
// request and A the type of an answer.

// Streams. dubbo-go's own ones move untyped messages; both ends share these views.

// Sink sends messages.
type Sink[S any] struct{ raw interface{ Send(any) error } }

func (s Sink[S]) Send(m *S) error { return s.raw.Send(m) }

// Source walks over messages: Recv until false, then see Err.
type Source[R any] struct {
	raw interface {
		Receive(any) bool
		Err() error
	}
	last *R
}

func (s *Source[R]) Recv() bool {
	s.last = new(R)
	return s.raw.Receive(s.last)
}
func (s *Source[R]) Msg() *R    { return s.last }
func (s *Source[R]) Err() error { return s.raw.Err() }

// Duplex sends and receives; Recv ends with io.EOF.
type Duplex[S, R any] struct {
	Sink[S]
	raw interface{ Receive(any) error }
}

func (d Duplex[S, R]) Recv() (*R, error) {
	m := new(R)
	if err := d.raw.Receive(m); err != nil {
		return nil, err
	}
	return m, nil
}

// Provider side: one function per kind of call makes a row of the service table.

func method[Q, A any](kind, name string, wrap func(any) any, call func(context.Context, Handler, []any) (any, error)) common.MethodInfo {
	return common.MethodInfo{
		Name: name, Type: kind, StreamInitFunc: wrap,
		ReqInitFunc: func() any { return new(Q) },
		MethodFunc:  func(ctx context.Context, args []any, h any) (any, error) { return call(ctx, h.(Handler), args) },
		// Only the OpenAPI documents read this, and ReqInitFunc where the requests are a stream.
		Meta: map[string]any{"response.type": reflect.TypeFor[A]()},
	}
}

func answer[A any](a *A, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return tri.NewResponse(a), nil
}

func unary[Q, A any](name string, f func(Handler, context.Context, *Q) (*A, error)) common.MethodInfo {
	return method[Q, A](constant.CallUnary, name, nil,
		func(ctx context.Context, h Handler, args []any) (any, error) { return answer(f(h, ctx, args[0].(*Q))) })
}

func serverStream[Q, A any](name string, f func(Handler, context.Context, *Q, Sink[A]) error) common.MethodInfo {
	return method[Q, A](constant.CallServerStream, name,
		func(raw any) any { return Sink[A]{raw.(*tri.ServerStream)} },
		func(ctx context.Context, h Handler, args []any) (any, error) {
			return nil, f(h, ctx, args[0].(*Q), args[1].(Sink[A]))
		})
}

func clientStream[Q, A any](name string, f func(Handler, context.Context, *Source[Q]) (*A, error)) common.MethodInfo {
	return method[Q, A](constant.CallClientStream, name,
		func(raw any) any { return &Source[Q]{raw: raw.(*tri.ClientStream)} },
		func(ctx context.Context, h Handler, args []any) (any, error) {
			return answer(f(h, ctx, args[0].(*Source[Q])))
		})
}

func bidi[Q, A any](name string, f func(Handler, context.Context, Duplex[A, Q]) error) common.MethodInfo {
	return method[Q, A](constant.CallBidiStream, name,
		func(raw any) any {
			s := raw.(*tri.BidiStream)
			return Duplex[A, Q]{Sink[A]{s}, s}
		},
		func(ctx context.Context, h Handler, args []any) (any, error) {
			return nil, f(h, ctx, args[0].(Duplex[A, Q]))
		})
}

// Consumer side: one function type per kind of call.

type (
	Unary[Q, A any]        func(context.Context, *Q, ...client.CallOption) (*A, error)
	ServerStream[Q, A any] func(context.Context, *Q, ...client.CallOption) (*Answers[A], error)
	ClientStream[Q, A any] func(context.Context, ...client.CallOption) (*Requests[Q, A], error)
	Bidi[Q, A any]         func(context.Context, ...client.CallOption) (*Dialogue[Q, A], error)
)

// Answers is the consumer's end of a server stream.
type Answers[A any] struct {
	Source[A]
	end
}

type end interface {
	Close() error
	ResponseTrailer() http.Header
}

// Requests is the consumer's end of a client stream.
type Requests[Q, A any] struct {
	Sink[Q]
	raw     *tri.ClientStreamForClient
	trailer http.Header
}

// CloseAndRecv ends the requests and waits for the answer.
func (r *Requests[Q, A]) CloseAndRecv() (*A, error) {
	a := new(A)
	resp := tri.NewResponse(a)
	if err := r.raw.CloseAndReceive(resp); err != nil {
		return nil, err
	}
	r.trailer = resp.Trailer()
	return a, nil
}

// ResponseTrailer is complete after CloseAndRecv.
func (r *Requests[Q, A]) ResponseTrailer() http.Header { return r.trailer }

// Dialogue is the consumer's end of a stream in both directions.
type Dialogue[Q, A any] struct {
	Duplex[Q, A]
	ends
}

type ends interface {
	CloseRequest() error
	CloseResponse() error
	ResponseTrailer() http.Header
}

// entry is a row of the table that dial works through.
type entry struct {
	name string
	call interface {
		bind(*client.Connection, string)
	}
}

func dial(cli *client.Client, service string, table []entry, opts []client.ReferenceOption) error {
	info := &client.ClientInfo{InterfaceName: service}
	for _, e := range table {
		info.MethodNames = append(info.MethodNames, e.name)
	}
	conn, err := cli.DialWithInfo(service, info, opts...)
	if err != nil {
		return err
	}
	for _, e := range table {
		e.call.bind(conn, e.name)
	}
	return nil
}

func (f *Unary[Q, A]) bind(conn *client.Connection, name string) {
	*f = func(ctx context.Context, q *Q, opts ...client.CallOption) (*A, error) {
		a := new(A)
		if err := conn.CallUnary(ctx, []any{q}, a, name, opts...); err != nil {
			return nil, err
		}
		return a, nil
	}
}

func (f *ServerStream[Q, A]) bind(conn *client.Connection, name string) {
	*f = func(ctx context.Context, q *Q, opts ...client.CallOption) (*Answers[A], error) {
		raw, err := conn.CallServerStream(ctx, q, name, opts...)
		if err != nil {
			return nil, err
		}
		s := raw.(*tri.ServerStreamForClient)
		return &Answers[A]{Source[A]{raw: s}, s}, nil
	}
}

func (f *ClientStream[Q, A]) bind(conn *client.Connection, name string) {
	*f = func(ctx context.Context, opts ...client.CallOption) (*Requests[Q, A], error) {
		raw, err := conn.CallClientStream(ctx, name, opts...)
		if err != nil {
			return nil, err
		}
		s := raw.(*tri.ClientStreamForClient)
		return &Requests[Q, A]{Sink: Sink[Q]{s}, raw: s}, nil
	}
}

func (f *Bidi[Q, A]) bind(conn *client.Connection, name string) {
	*f = func(ctx context.Context, opts ...client.CallOption) (*Dialogue[Q, A], error) {
		raw, err := conn.CallBidiStream(ctx, name, opts...)
		if err != nil {
			return nil, err
		}
		s := raw.(*tri.BidiStreamForClient)
		return &Dialogue[Q, A]{Duplex[Q, A]{Sink[Q]{s}, s}, s}, nil
	}
}
