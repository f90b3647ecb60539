// Command provider serves the contract with dubbo-go, over the protocols that have a port.
//
// On its standard output it prints one JSON object per line: {"event":"ready"} once it
// accepts connections, then what happens to the calls it is asked to hold (see impl.Notice).
package main

import (
	"encoding/json"
	"flag"
	"io"
	"log"
	"net"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"dubbo.apache.org/dubbo-go/v3"
	"dubbo.apache.org/dubbo-go/v3/common/constant"
	"dubbo.apache.org/dubbo-go/v3/graceful_shutdown"
	_ "dubbo.apache.org/dubbo-go/v3/imports"
	"dubbo.apache.org/dubbo-go/v3/logger"
	"dubbo.apache.org/dubbo-go/v3/protocol"
	"dubbo.apache.org/dubbo-go/v3/server"

	"dubbo-rust/interop/go/internal/impl"
	"dubbo-rust/interop/go/internal/registries"
	"dubbo-rust/interop/go/internal/stub"
)

var (
	ports = map[string]*int{
		"tri":   flag.Int("tri", 0, "port of Triple, on every address"),
		"dubbo": flag.Int("dubbo", 0, "port of dubbo, on every address"),
	}
	registry = registries.Declare("interop-go-provider")
	name     = flag.String("name", "", "what the answers to a discovering consumer end with")
	leaving  = flag.Int("leave", 1, "seconds that consumers have to notice that the provider leaves, with a registry")
	patient  = flag.Bool("default-shutdown", false, "leave all times of the shutdown to the framework")
	work     = flag.Int("work", 0, "milliseconds that each call of a discovering consumer takes")
	tag      = flag.String("tag", "", "tag of its services, with a registry")
	weight   = flag.Int64("weight", 0, "weight of its services, with a registry")
	warmUp   = flag.Int("warmup", -1, "seconds in which its share grows, with a registry; else the framework's choice")
	guard    = flag.Bool("until-stdin-ends", false, "exit when the standard input ends, so that no provider outlives its runner")
	level    = flag.String("log", "fatal", "log level of the framework")
)

func main() {
	flag.Parse()
	log.SetFlags(0)
	// The framework logs to the standard output, which is for events here.
	events := json.NewEncoder(os.Stdout)
	os.Stdout = os.Stderr
	if *guard {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			os.Exit(1)
		}()
	}
	var mu sync.Mutex
	notice := func(n impl.Notice) {
		mu.Lock()
		defer mu.Unlock()
		_ = events.Encode(n)
	}
	go func() {
		for _, port := range ports {
			awaitListener(*port)
		}
		notice(impl.Notice{Event: "ready"})
	}()
	if err := serve(notice); err != nil {
		log.Fatal(err)
	}
}

func serve(notice func(impl.Notice)) error {
	options, err := registry.Options()
	if err != nil {
		return err
	}
	spans, err := tracing()
	if err != nil {
		return err
	}
	options = append(options, spans...)
	leave := time.Duration(0)
	if registry.Given() {
		leave = time.Duration(*leaving) * time.Second
	}
	options = append(options,
		// That of a service is not told by application; that of the application is told no other way.
		dubbo.WithTag(*tag),
		dubbo.WithLogger(logger.WithZap(), logger.WithLevel(*level)),
	)
	if !*patient {
		options = append(options, dubbo.WithShutdown(
			graceful_shutdown.WithStepTimeout(10*time.Second),
			graceful_shutdown.WithConsumerUpdateWaitTime(leave),
			graceful_shutdown.WithOfflineRequestWindowTimeout(0),
		))
	}
	var served []string
	if port := *ports["tri"]; port != 0 {
		options = append(options, dubbo.WithProtocol(protocol.WithID("tri"), protocol.WithTriple(), protocol.WithPort(port)))
		served = append(served, "tri")
	}
	if port := *ports["dubbo"]; port != 0 {
		options = append(options, dubbo.WithProtocol(protocol.WithID("dubbo"), protocol.WithDubbo(), protocol.WithPort(port)))
		served = append(served, "dubbo")
	}
	ins, err := dubbo.NewInstance(options...)
	if err != nil {
		return err
	}
	srv, err := ins.NewServer(share)
	if err != nil {
		return err
	}
	if registry.Given() {
		err = discovered(srv, notice)
	} else {
		err = addressed(ins, srv, served, notice)
	}
	if err != nil {
		return err
	}
	return srv.Serve()
}

// addressed offers the whole contract, plain and in a group, over all that is served.
func addressed(ins *dubbo.Instance, srv *server.Server, served []string, notice func(impl.Notice)) error {
	greeter, users, err := next(ins)
	if err != nil {
		return err
	}
	const suffix = " from g1/1.0.0"
	grouped := []server.ServiceOption{server.WithGroup("g1"), server.WithVersion("1.0.0")}
	if slices.Contains(served, "tri") {
		if err := stub.Register(srv, &impl.Greeter{Notice: notice, Next: greeter}, overTriple()); err != nil {
			return err
		}
		second := &impl.Grouped{Greeter: impl.Greeter{Notice: notice, Suffix: suffix}}
		if err := stub.Register(srv, second, append(grouped, overTriple())...); err != nil {
			return err
		}
	}
	if err := srv.RegisterService(&impl.UserService{Notice: notice, Next: users}, user(served)...); err != nil {
		return err
	}
	second := &impl.GroupedUserService{UserService: impl.UserService{Notice: notice, Suffix: suffix}}
	return srv.RegisterService(second, append(grouped, user(served)...)...)
}

// discovered offers each service once, over one protocol, with answers that say who gave them.
func discovered(srv *server.Server, notice func(impl.Notice)) error {
	suffix, takes := " from "+*name, time.Duration(*work)*time.Millisecond
	how := []server.ServiceOption{server.WithTag(*tag)}
	if *warmUp >= 0 {
		how = append(how, server.WithWarmUp(time.Duration(*warmUp)*time.Second))
	}
	greeter := append(slices.Clone(how), overTriple())
	if err := stub.Register(srv, &impl.Greeter{Notice: notice, Suffix: suffix, Work: takes}, greeter...); err != nil {
		return err
	}
	users := append(how, user([]string{"dubbo"})...)
	return srv.RegisterService(&impl.UserService{Notice: notice, Suffix: suffix, Work: takes}, users...)
}

// share sets the weight. Of all that configure a provider only this is published, and there is no option for it.
func share(options *server.ServerOptions) {
	if *weight != 0 {
		options.Provider.Weight = *weight
	}
}

func overTriple() server.ServiceOption { return server.WithProtocolIDs([]string{"tri"}) }

func user(protocols []string) []server.ServiceOption {
	return []server.ServiceOption{
		server.WithInterface(impl.UserServiceName),
		server.WithProtocolIDs(protocols),
		server.WithSerialization(constant.Hessian2Serialization),
	}
}

func awaitListener(port int) {
	for port != 0 {
		c, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			_ = c.Close()
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}
