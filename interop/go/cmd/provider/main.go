// Command provider serves the Greeter contract with dubbo-go.
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
	"strconv"
	"sync"
	"time"

	"dubbo.apache.org/dubbo-go/v3"
	"dubbo.apache.org/dubbo-go/v3/graceful_shutdown"
	_ "dubbo.apache.org/dubbo-go/v3/imports"
	"dubbo.apache.org/dubbo-go/v3/logger"
	"dubbo.apache.org/dubbo-go/v3/protocol"
	"dubbo.apache.org/dubbo-go/v3/server"

	"dubbo-rust/interop/go/internal/impl"
	"dubbo-rust/interop/go/internal/stub"
)

var (
	port  = flag.Int("port", 20000, "port to listen on, on every address")
	guard = flag.Bool("until-stdin-ends", false, "exit when the standard input ends, so that no provider outlives its runner")
	level = flag.String("log", "fatal", "log level of the framework")
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
		awaitListener()
		notice(impl.Notice{Event: "ready"})
	}()
	if err := serve(notice); err != nil {
		log.Fatal(err)
	}
}

func serve(notice func(impl.Notice)) error {
	ins, err := dubbo.NewInstance(
		dubbo.WithName("interop-go-provider"),
		dubbo.WithLogger(logger.WithZap(), logger.WithLevel(*level)),
		dubbo.WithProtocol(protocol.WithTriple(), protocol.WithPort(*port)),
		// Without a registry nobody needs time to notice that the provider leaves.
		dubbo.WithShutdown(
			graceful_shutdown.WithStepTimeout(10*time.Second),
			graceful_shutdown.WithConsumerUpdateWaitTime(0),
			graceful_shutdown.WithOfflineRequestWindowTimeout(0),
		),
	)
	if err != nil {
		return err
	}
	srv, err := ins.NewServer()
	if err != nil {
		return err
	}
	if err := stub.Register(srv, &impl.Greeter{Notice: notice}); err != nil {
		return err
	}
	grouped := &impl.Grouped{Greeter: impl.Greeter{Notice: notice, Suffix: " from g1/1.0.0"}}
	if err := stub.Register(srv, grouped, server.WithGroup("g1"), server.WithVersion("1.0.0")); err != nil {
		return err
	}
	return srv.Serve()
}

func awaitListener() {
	for {
		c, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(*port)))
		if err == nil {
			_ = c.Close()
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}
