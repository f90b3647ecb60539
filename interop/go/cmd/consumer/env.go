package main

import (
	"time"

	"dubbo.apache.org/dubbo-go/v3"
	"dubbo.apache.org/dubbo-go/v3/client"
	"dubbo.apache.org/dubbo-go/v3/common/constant"
	_ "dubbo.apache.org/dubbo-go/v3/imports"
	"dubbo.apache.org/dubbo-go/v3/logger"
	hpb "dubbo.apache.org/dubbo-go/v3/protocol/triple/health/triple_health"

	"dubbo-rust/interop/go/internal/stub"
)

const defaultTimeout = 3 * time.Second

// env makes references; the plain one to the Greeter is made once.
type env struct {
	ins   *dubbo.Instance
	plain *stub.Greeter
}

// reference says how a reference differs from the plain one.
type reference struct {
	timeout        time.Duration
	group, version string
}

func newEnv() (*env, error) {
	ins, err := dubbo.NewInstance(
		dubbo.WithName("interop-go-consumer"),
		dubbo.WithLogger(logger.WithZap(), logger.WithLevel(*level)),
	)
	if err != nil {
		return nil, err
	}
	return &env{ins: ins}, nil
}

func (e *env) greeter() (*stub.Greeter, error) {
	if e.plain == nil {
		g, err := e.refer(reference{})
		if err != nil {
			return nil, err
		}
		e.plain = g
	}
	return e.plain, nil
}

func (e *env) refer(r reference) (*stub.Greeter, error) {
	cli, err := e.client(r)
	if err != nil {
		return nil, err
	}
	return stub.Dial(cli, options(r)...)
}

// conn dials a service by name, for methods that the stub does not have.
func (e *env) conn(service, method string) (*client.Connection, error) {
	cli, err := e.client(reference{})
	if err != nil {
		return nil, err
	}
	info := &client.ClientInfo{InterfaceName: service, MethodNames: []string{method}}
	return cli.DialWithInfo(service, info, options(reference{})...)
}

func (e *env) health() (hpb.Health, error) {
	cli, err := e.client(reference{})
	if err != nil {
		return nil, err
	}
	return hpb.NewHealth(cli, options(reference{})...)
}

// client makes one client for each reference: the options of a reference leak into the
// later references of its client, and only the client's timeout reaches the wire.
func (e *env) client(r reference) (*client.Client, error) {
	if r.timeout == 0 {
		r.timeout = defaultTimeout
	}
	return e.ins.NewClient(client.WithClientRequestTimeout(r.timeout), client.WithClientRetries(0))
}

func options(r reference) []client.ReferenceOption {
	o := []client.ReferenceOption{
		client.WithURL("tri://" + *addr),
		client.WithProtocolTriple(),
		client.WithRetries(0),
		client.WithSerialization(constant.ProtobufSerialization),
	}
	if r.group != "" {
		o = append(o, client.WithGroup(r.group))
	}
	if r.version != "" {
		o = append(o, client.WithVersion(r.version))
	}
	return o
}
