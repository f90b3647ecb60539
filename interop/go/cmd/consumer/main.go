// Command consumer calls the contract with dubbo-go and prints one JSON object
// per case, in one line: {"case":…, "got":…, "error":{"code","message","details"}, "millis":…}.
// It reports and does not judge: what each case has to give is known to the runner.
//
// With a registry it looks for the provider there instead, and tells how its calls fare (see discover).
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

	"github.com/apache/dubbo-go-hessian2/java_exception"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"dubbo.apache.org/dubbo-go/v3/common/constant"
	tri "dubbo.apache.org/dubbo-go/v3/protocol/triple/triple_protocol"

	"dubbo-rust/interop/go/internal/impl"
	"dubbo-rust/interop/go/internal/registries"
)

var (
	addresses = map[string]*string{
		"tri":   flag.String("tri", "", "host:port of the provider's Triple"),
		"dubbo": flag.String("dubbo", "", "host:port of the provider's dubbo"),
	}
	registry = registries.Declare("interop-go-consumer")

	load   = flag.Int("load", 0, "milliseconds between two calls that are counted, with a registry")
	rate   = flag.Int("rate", 0, "calls a second over each protocol, whether those before are answered or not, with a registry")
	labels = flag.String("cases", "", "comma separated PROTOCOL/NAME of cases, run in this order")
	list   = flag.Bool("list", false, "print the names of the cases and exit")
	level  = flag.String("log", "fatal", "log level of the framework")
)

// report is a line of output. Got is what the calls of the case gave, Error what ended
// them, Millis how long they took.
type report struct {
	Case   string   `json:"case"`
	Got    any      `json:"got"`
	Error  *failure `json:"error,omitempty"`
	Millis int64    `json:"millis"`
}

// failure has a code when the framework or the provider gave one, and a class when it is an
// exception that came as an object.
type failure struct {
	Code    int      `json:"code,omitempty"`
	Class   string   `json:"class,omitempty"`
	Message string   `json:"message"`
	Details []detail `json:"details,omitempty"`
}

type detail struct {
	Type  string `json:"type"`
	Value any    `json:"value"`
}

type testCase struct {
	name string
	run  call
}

// selected is a case over one protocol.
type selected struct {
	label, protocol string
	run             call
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
	// The framework logs to the standard output, which is for results here.
	results := json.NewEncoder(os.Stdout)
	results.SetEscapeHTML(false)
	os.Stdout = os.Stderr
	if registry.Given() {
		if err := discover(results); err != nil {
			log.Fatal(err)
		}
		return
	}
	chosen, err := selection()
	if err != nil {
		log.Fatal(err)
	}
	envs, err := newEnvs(addresses)
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range chosen {
		if err := results.Encode(run(c, envs[c.protocol])); err != nil {
			log.Fatal(err)
		}
	}
}

func selection() (out []selected, err error) {
	known := map[string]call{}
	for _, c := range cases {
		known[c.name] = c.run
	}
	for _, label := range strings.Split(*labels, ",") {
		protocol, name, _ := strings.Cut(label, "/")
		run, ok := known[name]
		if !ok || addresses[protocol] == nil {
			return nil, fmt.Errorf("no case %q", label)
		}
		out = append(out, selected{label, protocol, run})
	}
	return out, nil
}

func run(c selected, e *env) (r report) {
	r.Case = c.label
	start := time.Now()
	defer func() {
		r.Millis = time.Since(start).Milliseconds()
		if p := recover(); p != nil {
			r.Error = &failure{Message: fmt.Sprintf("the consumer panicked: %v", p)}
		}
	}()
	got, err := c.run(attach(context.Background(), c.label, nil), e)
	r.Got = got
	if _, err := json.Marshal(got); err != nil {
		// Some answers that a provider should not give are objects that JSON has no form for.
		r.Got = fmt.Sprintf("%T", got)
	}
	if err != nil {
		r.Error = describe(err)
	}
	return r
}

// attach puts the case's label and more attachments into the context.
func attach(ctx context.Context, label string, more map[string]any) context.Context {
	all := map[string]any{impl.CaseKey: label}
	for k, v := range more {
		all[k] = v
	}
	return context.WithValue(ctx, constant.AttachmentKey, all)
}

func describe(err error) *failure {
	var te *tri.Error
	var exception java_exception.Throwabler
	switch {
	case errors.As(err, &te):
	case errors.As(err, &exception):
		return &failure{Class: exception.JavaClassName(), Message: exception.Error()}
	default:
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
