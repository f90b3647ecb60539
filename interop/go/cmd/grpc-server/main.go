// Command grpc-server serves the contract with grpc-go, which knows nothing of Dubbo: no groups, no versions.
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

	"google.golang.org/grpc"
	_ "google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"dubbo-rust/interop/go/internal/impl"
)

var (
	port  = flag.Int("tri", 0, "port to listen on, on every address")
	guard = flag.Bool("until-stdin-ends", false, "exit when the standard input ends, so that no provider outlives its runner")
)

func main() {
	flag.Parse()
	log.SetFlags(0)
	if *guard {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			os.Exit(1)
		}()
	}
	listener, err := net.Listen("tcp", ":"+strconv.Itoa(*port))
	if err != nil {
		log.Fatal(err)
	}
	var mu sync.Mutex
	events := json.NewEncoder(os.Stdout)
	notice := func(n impl.Notice) {
		mu.Lock()
		defer mu.Unlock()
		_ = events.Encode(n)
	}
	server := grpc.NewServer()
	server.RegisterService(&description, &greeter{notice})
	states := health.NewServer()
	states.SetServingStatus(description.ServiceName, healthpb.HealthCheckResponse_SERVING)
	healthpb.RegisterHealthServer(server, states)
	notice(impl.Notice{Event: "ready"})
	if err := server.Serve(listener); err != nil {
		log.Fatal(err)
	}
}
