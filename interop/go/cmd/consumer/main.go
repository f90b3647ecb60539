// Command consumer calls the Greeter contract with dubbo-go and prints one JSON object
// per case, in one line: {"case":…, "got":…, "error":{"code","message","details"}, "millis":…}.
// It reports and does not judge: what each case has to give is known to the runner.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"dubbo.apache.org/dubbo-go/v3/common/constant"
	tri "dubbo.apache.org/dubbo-go/v3/protocol/triple/triple_protocol"

	"dubbo-rust/interop/go/internal/impl"
)

var (
	addr  = flag.String("addr", "127.0.0.1:20000", "provider host:port")
	names = flag.String("cases", "", "comma separated names of cases, run in this order (default: all)")
	list  = flag.Bool("list", false, "print the names of the cases and exit")
	level = flag.String("log", "fatal", "log level of the framework")
)

// report is a line of output. Got is what the calls of the case gave, Error what ended
// them, Millis how long they took.
type report struct {
	Case   string   `json:"case"`
	Got    any      `json:"got"`
	Error  *failure `json:"error,omitempty"`
	Millis int64    `json:"millis"`
}

// failure has no code when the error is none of the protocol's.
type failure struct {
	Code    int      `json:"code,omitempty"`
	Message string   `json:"message"`
	Details []detail `json:"details,omitempty"`
}

type detail struct {
	Type  string `json:"type"`
	Value any    `json:"value"`
}

type testCase struct {
	name string
	run  func(context.Context, *env) (any, error)
}

func main() {
	flag.Parse()
	log.SetFlags(0)
	if *list {
		for _, c := range cases {
			fmt.Println(c.name)
		}
		return
	}
	selected, err := selection()
	if err != nil {
		log.Fatal(err)
	}
	// The framework logs to the standard output, which is for results here.
	results := json.NewEncoder(os.Stdout)
	results.SetEscapeHTML(false)
	os.Stdout = os.Stderr
	e, err := newEnv()
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range selected {
		if err := results.Encode(run(c, e)); err != nil {
			log.Fatal(err)
		}
	}
}

func selection() ([]testCase, error) {
	if *names == "" {
		return cases, nil
	}
	known := map[string]testCase{}
	for _, c := range cases {
		known[c.name] = c
	}
	var out []testCase
	for _, n := range strings.Split(*names, ",") {
		c, ok := known[n]
		if !ok {
			return nil, fmt.Errorf("no case named %q", n)
		}
		out = append(out, c)
	}
	return out, nil
}

func run(c testCase, e *env) (r report) {
	r.Case = c.name
	start := time.Now()
	defer func() {
		r.Millis = time.Since(start).Milliseconds()
		if p := recover(); p != nil {
			r.Error = &failure{Message: fmt.Sprintf("the consumer panicked: %v", p)}
		}
	}()
	got, err := c.run(attach(context.Background(), c.name, nil), e)
	r.Got = got
	if err != nil {
		r.Error = describe(err)
	}
	return r
}

// attach puts the case's name and more attachments into the context.
func attach(ctx context.Context, name string, more map[string]any) context.Context {
	all := map[string]any{impl.CaseKey: name}
	for k, v := range more {
		all[k] = v
	}
	return context.WithValue(ctx, constant.AttachmentKey, all)
}

func describe(err error) *failure {
	var te *tri.Error
	if !errors.As(err, &te) {
		return &failure{Message: err.Error()}
	}
	f := &failure{Code: int(te.Code()), Message: te.Message()}
	for _, d := range te.Details() {
		m, err := d.Value()
		if err != nil {
			f.Details = append(f.Details, detail{d.Type(), err.Error()})
			continue
		}
		f.Details = append(f.Details, detail{d.Type(), asJSON(m)})
	}
	return f
}

func asJSON(m proto.Message) any {
	b, err := protojson.Marshal(m)
	if err != nil {
		return err.Error()
	}
	return json.RawMessage(b)
}
