// Command grpc-client calls the contract with grpc-go, which knows nothing of Dubbo, and prints one JSON object
// per case, in one line, as the other consumers do. It reports and does not judge.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"dubbo-rust/interop/go/internal/impl"
)

var (
	address = flag.String("tri", "", "host:port of the provider")
	labels  = flag.String("cases", "", "comma separated tri/NAME of cases, run in this order")
)

// report is a line of output. Got is what the calls of the case gave, Error what ended
// them, Millis how long they took.
type report struct {
	Case   string   `json:"case"`
	Got    any      `json:"got"`
	Error  *failure `json:"error,omitempty"`
	Millis int64    `json:"millis"`
}

type failure struct {
	Code    int      `json:"code"`
	Message string   `json:"message"`
	Details []detail `json:"details,omitempty"`
}

type detail struct {
	Type  string          `json:"type"`
	Value json.RawMessage `json:"value"`
}

func main() {
	flag.Parse()
	log.SetFlags(0)
	conn, err := grpc.NewClient(*address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		log.Fatal(err)
	}
	results := json.NewEncoder(os.Stdout)
	results.SetEscapeHTML(false)
	for _, label := range strings.Split(*labels, ",") {
		run, ok := cases[strings.TrimPrefix(label, "tri/")]
		if !ok {
			log.Fatalf("no case %q", label)
		}
		if err := results.Encode(runCase(label, run, conn)); err != nil {
			log.Fatal(err)
		}
	}
}

func runCase(label string, run call, conn *grpc.ClientConn) (r report) {
	r.Case = label
	start := time.Now()
	ctx := metadata.AppendToOutgoingContext(context.Background(), impl.CaseKey, label)
	got, err := run(ctx, conn)
	r.Millis = time.Since(start).Milliseconds()
	r.Got = got
	if err != nil {
		r.Error = describe(err)
	}
	return r
}

func describe(err error) *failure {
	s := status.Convert(err)
	f := &failure{Code: int(s.Code()), Message: s.Message()}
	for _, d := range s.Details() {
		m, ok := d.(proto.Message)
		if !ok {
			text, _ := json.Marshal(fmt.Sprint(d))
			f.Details = append(f.Details, detail{"", text})
			continue
		}
		f.Details = append(f.Details, detail{string(m.ProtoReflect().Descriptor().FullName()), asJSON(m)})
	}
	return f
}

func asJSON(m proto.Message) json.RawMessage {
	b, err := protojson.Marshal(m)
	if err != nil {
		b, _ = json.Marshal(err.Error())
	}
	return b
}
