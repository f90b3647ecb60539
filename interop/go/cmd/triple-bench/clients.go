package main

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"dubbo.apache.org/dubbo-go/v3"
	"dubbo.apache.org/dubbo-go/v3/client"
	_ "dubbo.apache.org/dubbo-go/v3/imports"
	"dubbo.apache.org/dubbo-go/v3/logger"

	pb "dubbo-rust/interop/go/gen/interopv1"
	"dubbo-rust/interop/go/internal/stub"
)

func dialDubboGo(address string) (caller, error) {
	ins, err := dubbo.NewInstance(
		dubbo.WithName("interop-go-triple-bench"),
		dubbo.WithLogger(logger.WithZap(), logger.WithLevel("fatal")),
	)
	if err != nil {
		return caller{}, err
	}
	cli, err := ins.NewClient(client.WithClientRequestTimeout(timeout))
	if err != nil {
		return caller{}, err
	}
	greeter, err := stub.Dial(cli, client.WithProtocolTriple(), client.WithURL("tri://"+address), client.WithRetries(0))
	if err != nil {
		return caller{}, err
	}
	return caller{
		ping: func(ctx context.Context, m *pb.PingMessage) (*pb.PingMessage, error) { return greeter.Ping(ctx, m) },
		stream: func(ctx context.Context, r *pb.GreetRequest) (int, error) {
			answers, err := greeter.GreetServerStream(ctx, r)
			if err != nil {
				return 0, err
			}
			came := 0
			for answers.Recv() {
				came++
			}
			return came, errors.Join(answers.Err(), answers.Close())
		},
	}, nil
}

func dialGrpcGo(address string) (caller, error) {
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return caller{}, err
	}
	const service = "/" + stub.Name + "/"
	streams := &grpc.StreamDesc{StreamName: "GreetServerStream", ServerStreams: true}
	return caller{
		ping: func(ctx context.Context, m *pb.PingMessage) (*pb.PingMessage, error) {
			answer := new(pb.PingMessage)
			return answer, conn.Invoke(ctx, service+"Ping", m, answer)
		},
		stream: func(ctx context.Context, r *pb.GreetRequest) (int, error) {
			s, err := conn.NewStream(ctx, streams, service+streams.StreamName)
			if err != nil {
				return 0, err
			}
			if err := errors.Join(s.SendMsg(r), s.CloseSend()); err != nil {
				return 0, err
			}
			for came := 0; ; came++ {
				if err := s.RecvMsg(new(pb.GreetResponse)); errors.Is(err, io.EOF) {
					return came, nil
				} else if err != nil {
					return came, err
				}
			}
		},
	}, nil
}
