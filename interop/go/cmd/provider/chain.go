package main

import (
	"flag"
	"fmt"

	"dubbo.apache.org/dubbo-go/v3"
	"dubbo.apache.org/dubbo-go/v3/client"
	"dubbo.apache.org/dubbo-go/v3/common/constant"
	"dubbo.apache.org/dubbo-go/v3/otel/trace"

	"dubbo-rust/interop/go/internal/impl"
	"dubbo-rust/interop/go/internal/stub"
)

var (
	nextTriple = flag.String("next-tri", "", "host:port of the Triple provider that is asked in turn for attachments")
	nextDubbo  = flag.String("next-dubbo", "", "host:port of the dubbo provider that is asked in turn for attachments")
	traced     = flag.String("trace", "", "w3c or b3: how the trace of a call travels; without it there are no spans")
	collector  = flag.String("collector", "", "host:port that takes spans by OTLP over HTTP")
)

// tracing is the option of an instance that makes spans of all calls, if that is asked for.
func tracing() ([]dubbo.InstanceOption, error) {
	switch {
	case *traced == "":
		return nil, nil
	case *traced != "w3c" && *traced != "b3":
		return nil, fmt.Errorf("--trace=%s is none of w3c, b3", *traced)
	case *collector == "":
		return nil, fmt.Errorf("--collector=HOST:PORT is missing: --trace needs it")
	}
	return []dubbo.InstanceOption{dubbo.WithTracing(
		trace.WithEnabled(),
		trace.WithPropagator(*traced),
		trace.WithOtlpHttpExporter(),
		trace.WithEndpoint(*collector),
		trace.WithInsecure(),
		trace.WithAlwaysMode(),
	)}, nil
}

// next refers to the providers that are asked in turn, those that there are.
func next(ins *dubbo.Instance) (greeter *stub.Greeter, users *client.Connection, err error) {
	if *nextTriple != "" {
		cli, err := ins.NewClient(client.WithClientRetries(0))
		if err != nil {
			return nil, nil, err
		}
		greeter, err = stub.Dial(cli,
			client.WithURL("tri://"+*nextTriple), client.WithProtocolTriple(), client.WithSerialization(constant.ProtobufSerialization))
		if err != nil {
			return nil, nil, err
		}
	}
	if *nextDubbo != "" {
		cli, err := ins.NewClient(client.WithClientRetries(0))
		if err != nil {
			return nil, nil, err
		}
		users, err = cli.DialWithInfo(impl.UserServiceName, &client.ClientInfo{InterfaceName: impl.UserServiceName},
			client.WithURL("dubbo://"+*nextDubbo), client.WithProtocolDubbo(),
			client.WithSerialization(constant.Hessian2Serialization), client.WithIDL(constant.NONIDL))
		if err != nil {
			return nil, nil, err
		}
	}
	return greeter, users, nil
}
