package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"dubbo.apache.org/dubbo-go/v3"
	"dubbo.apache.org/dubbo-go/v3/client"
	"dubbo.apache.org/dubbo-go/v3/common/constant"

	pb "dubbo-rust/interop/go/gen/interopv1"
	"dubbo-rust/interop/go/internal/impl"
	"dubbo-rust/interop/go/internal/stub"
)

// sighting is how the calls of a contract fare: it is printed whenever that changes, and at the end.
type sighting struct {
	// Event is "answered", "failed" or "totals".
	Event    string `json:"event"`
	Contract string `json:"contract"`
	By       string `json:"by,omitempty"`
	Error    string `json:"error,omitempty"`
	// Calls counts those so far, and Failed those of them that failed, whatever the framework tried.
	Calls  int `json:"calls"`
	Failed int `json:"failed"`
}

// discover calls one method of each contract in turn, of whichever provider the registry has, until the standard
// input ends.
func discover(out *json.Encoder) error {
	ins, err := newInstance()
	if err != nil {
		return err
	}
	greet, err := greetSomebody(ins)
	if err != nil {
		return err
	}
	hello, err := helloSomebody(ins)
	if err != nil {
		return err
	}
	over := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(over)
	}()
	var mu sync.Mutex
	say := func(s any) {
		mu.Lock()
		defer mu.Unlock()
		_ = out.Encode(s)
	}
	var callers sync.WaitGroup
	if *rate > 0 {
		callers.Go(func() { callAtRate("tri/greeter", greet, *rate, over, say) })
		callers.Go(func() { callAtRate("dubbo/user", hello, *rate, over, say) })
	} else if *load > 0 {
		every := time.Duration(*load) * time.Millisecond
		callers.Go(func() { countCalls("tri/greeter", greet, every, over, say) })
		callers.Go(func() { countCalls("dubbo/user", hello, every, over, say) })
	} else {
		callers.Go(func() { keepCalling("tri/greeter", greet, over, say) })
		callers.Go(func() { keepCalling("dubbo/user", hello, over, say) })
	}
	callers.Wait()
	return nil
}

func keepCalling(contract string, ask func(context.Context) (string, error), over <-chan struct{}, say func(any)) {
	var last sighting
	tick := time.NewTicker(callEvery)
	for {
		select {
		case <-over:
			last.Event, last.Contract, last.By, last.Error = "totals", contract, "", ""
			say(last)
			return
		case <-tick.C:
		}
		now := sighting{Contract: contract, Calls: last.Calls + 1, Failed: last.Failed}
		if answer, err := ask(context.Background()); err != nil {
			now.Event, now.Error = "failed", err.Error()
			now.Failed++
		} else {
			now.Event = "answered"
			_, now.By, _ = strings.Cut(answer, " from ")
		}
		if now.Event != last.Event || now.By != last.By || now.Error != last.Error {
			say(now)
		}
		last = now
	}
}

func greetSomebody(ins *dubbo.Instance) (func(context.Context) (string, error), error) {
	cli, err := discoveringClient(ins)
	if err != nil {
		return nil, err
	}
	greeter, err := stub.Dial(cli, client.WithProtocolTriple(), client.WithSerialization(constant.ProtobufSerialization))
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (string, error) {
		r, err := greeter.Greet(ctx, &pb.GreetRequest{Name: "dubbo"})
		return r.GetGreeting(), err
	}, nil
}

func helloSomebody(ins *dubbo.Instance) (func(context.Context) (string, error), error) {
	cli, err := discoveringClient(ins)
	if err != nil {
		return nil, err
	}
	user, err := cli.DialWithInfo(impl.UserServiceName, &client.ClientInfo{InterfaceName: impl.UserServiceName},
		client.WithProtocolDubbo(), client.WithSerialization(constant.Hessian2Serialization), client.WithIDL(constant.NONIDL))
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (string, error) {
		var answer string
		err := user.CallUnary(ctx, []any{"dubbo"}, &answer, "hello")
		if err == nil && answer == "" {
			err = fmt.Errorf("an empty answer")
		}
		return answer, err
	}, nil
}

// discoveringClient retries as often as the framework does unless told otherwise, and not at all where calls are counted that
// are made one by one. Where calls are made at a rate it has nothing but the framework's own options.
func discoveringClient(ins *dubbo.Instance) (*client.Client, error) {
	if *rate > 0 {
		return ins.NewClient(client.WithClientNoCheck(), client.WithClientFilter(attemptsFilter))
	}
	options := []client.ClientOption{client.WithClientRequestTimeout(time.Second), client.WithClientNoCheck()}
	if *load > 0 {
		options = append(options, client.WithClientRetries(0))
	}
	return ins.NewClient(options...)
}

const callEvery = 100 * time.Millisecond
