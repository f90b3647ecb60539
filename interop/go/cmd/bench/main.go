// Command bench calls the method ping of a provider with dubbo-go, as it is told to on its
// standard input; xtask/src/bench/dubbo.rs has the commands.
package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"dubbo.apache.org/dubbo-go/v3"
	"dubbo.apache.org/dubbo-go/v3/client"
	"dubbo.apache.org/dubbo-go/v3/common/constant"
	_ "dubbo.apache.org/dubbo-go/v3/imports"
	"dubbo.apache.org/dubbo-go/v3/logger"

	"dubbo-rust/interop/go/internal/impl"
)

var (
	address = flag.String("dubbo", "", "host:port of the provider's dubbo")
	callers = flag.Int("callers", 50, "calls at a time")
)

func main() {
	flag.Parse()
	log.SetFlags(0)
	// The framework logs to the standard output, which is for answers here.
	answers := os.Stdout
	os.Stdout = os.Stderr
	service, err := dial()
	if err != nil {
		log.Fatal(err)
	}
	commands := bufio.NewScanner(os.Stdin)
	for commands.Scan() {
		answer, err := obey(service, strings.Fields(commands.Text()))
		if err != nil {
			answer = "error: " + strings.ReplaceAll(err.Error(), "\n", " ")
		}
		fmt.Fprintln(answers, answer)
	}
}

func dial() (*client.Connection, error) {
	ins, err := dubbo.NewInstance(
		dubbo.WithName("interop-go-bench"),
		dubbo.WithLogger(logger.WithZap(), logger.WithLevel("fatal")),
	)
	if err != nil {
		return nil, err
	}
	cli, err := ins.NewClient(client.WithClientRequestTimeout(10 * time.Second))
	if err != nil {
		return nil, err
	}
	return cli.DialWithInfo(
		impl.UserServiceName,
		&client.ClientInfo{InterfaceName: impl.UserServiceName, MethodNames: []string{"ping"}},
		client.WithProtocolDubbo(),
		client.WithURL("dubbo://"+*address),
		client.WithIDL(constant.NONIDL),
		client.WithSerialization(constant.Hessian2Serialization),
		client.WithRetries(0),
	)
}

func obey(service *client.Connection, words []string) (string, error) {
	if len(words) != 3 || words[0] != "ping" {
		return "", fmt.Errorf("no command is like %q", words)
	}
	size, err := strconv.Atoi(words[1])
	if err != nil {
		return "", err
	}
	millis, err := strconv.Atoi(words[2])
	if err != nil {
		return "", err
	}
	payload := bytes.Repeat([]byte{'x'}, size)
	ping := func() error {
		var answer []byte
		if err := service.CallUnary(context.Background(), []any{payload}, &answer, "ping"); err != nil {
			return err
		}
		if !bytes.Equal(answer, payload) {
			return errors.New("the answer is not what was sent")
		}
		return nil
	}
	return round(ping, time.Duration(millis)*time.Millisecond)
}

// round calls for that long, and gives the number of calls and the nanoseconds that they took.
func round(ping func() error, limit time.Duration) (string, error) {
	var calls atomic.Int64
	failures := make(chan error, *callers)
	var all sync.WaitGroup
	start := time.Now()
	for range *callers {
		all.Go(func() {
			for time.Since(start) < limit {
				if err := ping(); err != nil {
					failures <- err
					return
				}
				calls.Add(1)
			}
		})
	}
	all.Wait()
	elapsed := time.Since(start)
	select {
	case err := <-failures:
		return "", err
	default:
		return fmt.Sprintf("%d %d", calls.Load(), elapsed.Nanoseconds()), nil
	}
}
