package main

import (
	"time"

	"dubbo.apache.org/dubbo-go/v3"
	"dubbo.apache.org/dubbo-go/v3/client"
	"dubbo.apache.org/dubbo-go/v3/common/constant"
	_ "dubbo.apache.org/dubbo-go/v3/imports"
	"dubbo.apache.org/dubbo-go/v3/logger"
	hpb "dubbo.apache.org/dubbo-go/v3/protocol/triple/health/triple_health"

	"dubbo-rust/interop/go/internal/impl"
	"dubbo-rust/interop/go/internal/stub"
)

const defaultTimeout = 3 * time.Second

// env makes references to the provider at one address; the plain ones are made once.
type env struct {
	ins       *dubbo.Instance
	protocol  string
	address   string
	plain     *stub.Greeter
	plainUser *client.Connection
}

// reference says how a reference differs from the plain one.
type reference struct {
	timeout        time.Duration
	group, version string
	// generic is the mode of a reference without the interface.
	generic string
}

// newEnvs makes an env for each protocol.
func newEnvs(addresses map[string]*string) (map[string]*env, error) {
	ins, err := newInstance()
	if err != nil {
		return nil, err
	}
	envs := map[string]*env{}
	for protocol, address := range addresses {
		envs[protocol] = &env{ins: ins, protocol: protocol, address: *address}
	}
	return envs, nil
}

func newInstance() (*dubbo.Instance, error) {
	options, err := registry.Options()
	if err != nil {
		return nil, err
	}
	return dubbo.NewInstance(append(options, dubbo.WithLogger(logger.WithZap(), logger.WithLevel(*level)))...)
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
	return stub.Dial(cli, e.protobuf(r)...)
}

// conn dials a service by name, for methods that the stub does not have.
func (e *env) conn(service, method string) (*client.Connection, error) {
	cli, err := e.client(reference{})
	if err != nil {
		return nil, err
	}
	info := &client.ClientInfo{InterfaceName: service, MethodNames: []string{method}}
	return cli.DialWithInfo(service, info, e.protobuf(reference{})...)
}

func (e *env) health() (hpb.Health, error) {
	cli, err := e.client(reference{})
	if err != nil {
		return nil, err
	}
	return hpb.NewHealth(cli, e.protobuf(reference{})...)
}

// client makes one client for each reference: the options of a reference leak into the
// later references of its client, and only the client's timeout reaches the wire.
func (e *env) client(r reference) (*client.Client, error) {
	if r.timeout == 0 {
		r.timeout = defaultTimeout
	}
	return e.ins.NewClient(client.WithClientRequestTimeout(r.timeout), client.WithClientRetries(0))
}

// user refers to the service without protobuf.
func (e *env) user() (*client.Connection, error) {
	if e.plainUser == nil {
		c, err := e.referUser(impl.UserServiceName, reference{})
		if err != nil {
			return nil, err
		}
		e.plainUser = c
	}
	return e.plainUser, nil
}

func (e *env) referUser(service string, r reference) (*client.Connection, error) {
	cli, err := e.client(r)
	if err != nil {
		return nil, err
	}
	o := append(e.hessian(r), client.WithIDL(constant.NONIDL))
	return cli.DialWithInfo(service, &client.ClientInfo{InterfaceName: service}, o...)
}

func (e *env) protobuf(r reference) []client.ReferenceOption {
	return append(e.options(r), client.WithSerialization(constant.ProtobufSerialization))
}

func (e *env) hessian(r reference) []client.ReferenceOption {
	return append(e.options(r), client.WithSerialization(constant.Hessian2Serialization))
}

func (e *env) options(r reference) []client.ReferenceOption {
	o := []client.ReferenceOption{client.WithURL(e.protocol + "://" + e.address), client.WithRetries(0)}
	if e.protocol == "dubbo" {
		o = append(o, client.WithProtocolDubbo())
	} else {
		o = append(o, client.WithProtocolTriple())
	}
	if r.group != "" {
		o = append(o, client.WithGroup(r.group))
	}
	if r.version != "" {
		o = append(o, client.WithVersion(r.version))
	}
	if r.generic != "" {
		o = append(o, client.WithGenericType(r.generic))
	}
	return o
}
