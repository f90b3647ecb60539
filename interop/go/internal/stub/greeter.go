// Package stub binds the Greeter contract to dubbo-go: Register for a provider,
// Dial for a consumer. Its messages are those of gen/interopv1.
package stub

import (
	"context"

	"google.golang.org/protobuf/types/known/emptypb"

	"dubbo.apache.org/dubbo-go/v3/client"
	"dubbo.apache.org/dubbo-go/v3/common"
	"dubbo.apache.org/dubbo-go/v3/server"

	pb "dubbo-rust/interop/go/gen/interopv1"
)

// Name is the name of the service on the wire.
const Name = "dubbo.interop.v1.Greeter"

// Handler is what a provider implements.
type Handler interface {
	Greet(context.Context, *pb.GreetRequest) (*pb.GreetResponse, error)
	GreetServerStream(context.Context, *pb.GreetRequest, Sink[pb.GreetResponse]) error
	GreetClientStream(context.Context, *Source[pb.GreetRequest]) (*pb.GreetResponse, error)
	GreetBidi(context.Context, Duplex[pb.GreetResponse, pb.GreetRequest]) error
	Echo(context.Context, *pb.EchoMessage) (*pb.EchoMessage, error)
	Ping(context.Context, *pb.PingMessage) (*pb.PingMessage, error)
	Fail(context.Context, *pb.FailRequest) (*emptypb.Empty, error)
	Sleep(context.Context, *pb.SleepRequest) (*pb.SleepResponse, error)
	BigPayload(context.Context, *pb.BigPayloadRequest) (*pb.BigPayloadResponse, error)
	Attachments(context.Context, *pb.AttachmentsRequest) (*pb.AttachmentsResponse, error)
	LowerCase(context.Context, *pb.GreetRequest) (*pb.GreetResponse, error)
}

// serverTable pairs the names of the proto with the methods of Handler. Its
// order is the one of the proto.
func serverTable() []common.MethodInfo {
	return []common.MethodInfo{
		unary("Greet", Handler.Greet),
		serverStream("GreetServerStream", Handler.GreetServerStream),
		clientStream("GreetClientStream", Handler.GreetClientStream),
		bidi("GreetBidi", Handler.GreetBidi),
		unary("Echo", Handler.Echo),
		unary("Ping", Handler.Ping),
		unary("Fail", Handler.Fail),
		unary("Sleep", Handler.Sleep),
		unary("BigPayload", Handler.BigPayload),
		unary("Attachments", Handler.Attachments),
		unary("lowerCase", Handler.LowerCase),
	}
}

// Register offers h on srv.
func Register(srv *server.Server, h Handler, opts ...server.ServiceOption) error {
	return srv.Register(h, &common.ServiceInfo{InterfaceName: Name, ServiceType: (*Handler)(nil), Methods: serverTable()}, opts...)
}

// Greeter is a reference to the service; every field is called like a method.
type Greeter struct {
	Greet             Unary[pb.GreetRequest, pb.GreetResponse]
	GreetServerStream ServerStream[pb.GreetRequest, pb.GreetResponse]
	GreetClientStream ClientStream[pb.GreetRequest, pb.GreetResponse]
	GreetBidi         Bidi[pb.GreetRequest, pb.GreetResponse]
	Echo              Unary[pb.EchoMessage, pb.EchoMessage]
	Ping              Unary[pb.PingMessage, pb.PingMessage]
	Fail              Unary[pb.FailRequest, emptypb.Empty]
	Sleep             Unary[pb.SleepRequest, pb.SleepResponse]
	BigPayload        Unary[pb.BigPayloadRequest, pb.BigPayloadResponse]
	Attachments       Unary[pb.AttachmentsRequest, pb.AttachmentsResponse]
	LowerCase         Unary[pb.GreetRequest, pb.GreetResponse]
}

// clientTable pairs the names of the proto with the fields of g, in the same
// order as serverTable.
func (g *Greeter) clientTable() []entry {
	return []entry{
		{"Greet", &g.Greet},
		{"GreetServerStream", &g.GreetServerStream},
		{"GreetClientStream", &g.GreetClientStream},
		{"GreetBidi", &g.GreetBidi},
		{"Echo", &g.Echo},
		{"Ping", &g.Ping},
		{"Fail", &g.Fail},
		{"Sleep", &g.Sleep},
		{"BigPayload", &g.BigPayload},
		{"Attachments", &g.Attachments},
		{"lowerCase", &g.LowerCase},
	}
}

// Dial makes a reference.
func Dial(cli *client.Client, opts ...client.ReferenceOption) (*Greeter, error) {
	g := &Greeter{}
	if err := dial(cli, Name, g.clientTable(), opts); err != nil {
		return nil, err
	}
	return g, nil
}
