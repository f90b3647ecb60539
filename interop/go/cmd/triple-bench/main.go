// Command triple-bench calls a provider over Triple with dubbo-go or grpc-go, as it is told to on its standard
// input; xtask/src/bench/triple/ends.rs has the commands.
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
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	pb "dubbo-rust/interop/go/gen/interopv1"
)

var (
	dubboGo = flag.String("dubbo-go", "", "host:port of a provider that dubbo-go's client calls")
	grpcGo  = flag.String("grpc-go", "", "host:port of a provider that grpc-go's client calls")
)

// caller is the client of a stack. stream gives how many messages came.
type caller struct {
	ping   func(context.Context, *pb.PingMessage) (*pb.PingMessage, error)
	stream func(context.Context, *pb.GreetRequest) (int, error)
}

func main() {
	flag.Parse()
	log.SetFlags(0)
	// The framework logs to the standard output, which is for answers here.
	answers := os.Stdout
	os.Stdout = os.Stderr
	c, err := dial()
	if err != nil {
		log.Fatal(err)
	}
	commands := bufio.NewScanner(os.Stdin)
	for commands.Scan() {
		answer, err := obey(c, strings.Fields(commands.Text()))
		if err != nil {
			answer = "error: " + strings.ReplaceAll(err.Error(), "\n", " ")
		}
		fmt.Fprintln(answers, answer)
	}
}

func dial() (caller, error) {
	switch {
	case *dubboGo != "" && *grpcGo == "":
		return dialDubboGo(*dubboGo)
	case *grpcGo != "" && *dubboGo == "":
		return dialGrpcGo(*grpcGo)
	default:
		return caller{}, errors.New("give either -dubbo-go or -grpc-go")
	}
}

// obey answers `ping SIZE MILLIS CALLERS` and `stream SIZE MILLIS CALLERS COUNT`.
func obey(c caller, words []string) (string, error) {
	if len(words) == 0 || len(words) != map[string]int{"ping": 4, "stream": 5}[words[0]] {
		return "", fmt.Errorf("no command is like %q", words)
	}
	var numbers []int
	for _, word := range words[1:] {
		number, err := strconv.Atoi(word)
		if err != nil {
			return "", err
		}
		numbers = append(numbers, number)
	}
	payload := bytes.Repeat([]byte{'x'}, numbers[0])
	limit, callers := time.Duration(numbers[1])*time.Millisecond, numbers[2]
	if words[0] == "ping" {
		return round(limit, callers, func() (int, error) { return 1, c.pingOnce(payload) })
	}
	request := &pb.GreetRequest{Name: string(payload), Count: int32(numbers[3])}
	return round(limit, callers, func() (int, error) { return c.streamOnce(request) })
}

func (c caller) pingOnce(payload []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	answer, err := c.ping(ctx, &pb.PingMessage{Payload: payload})
	if err != nil {
		return err
	}
	if !bytes.Equal(answer.GetPayload(), payload) {
		return errors.New("the answer is not what was sent")
	}
	return nil
}

func (c caller) streamOnce(request *pb.GreetRequest) (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	came, err := c.stream(ctx, request)
	if err == nil && came != int(request.GetCount()) {
		err = fmt.Errorf("%d of %d messages came", came, request.GetCount())
	}
	return came, err
}

// round calls for that long, each caller at least once, and gives the sum of what calls gave, the nanoseconds that
// they took, and the median and 99th percentile of what one took, in microseconds.
func round(limit time.Duration, callers int, call func() (int, error)) (string, error) {
	var mu sync.Mutex
	var failure error
	count, latencies := 0, []time.Duration(nil)
	var all sync.WaitGroup
	start := time.Now()
	for range callers {
		all.Go(func() {
			done, took, err := calls(start, limit, call)
			mu.Lock()
			defer mu.Unlock()
			count += done
			latencies = append(latencies, took...)
			failure = errors.Join(failure, err)
		})
	}
	all.Wait()
	elapsed := time.Since(start)
	if failure != nil {
		return "", failure
	}
	slices.Sort(latencies)
	percentile := func(hundredth int) int64 { return latencies[(len(latencies)-1)*hundredth/100].Microseconds() }
	return fmt.Sprintf("%d %d %d %d", count, elapsed.Nanoseconds(), percentile(50), percentile(99)), nil
}

func calls(start time.Time, limit time.Duration, call func() (int, error)) (int, []time.Duration, error) {
	count, latencies := 0, []time.Duration(nil)
	for {
		begun := time.Now()
		done, err := call()
		if err != nil {
			return count, latencies, err
		}
		count += done
		latencies = append(latencies, time.Since(begun))
		if time.Since(start) >= limit {
			return count, latencies, nil
		}
	}
}

// timeout is that of one call.
const timeout = 30 * time.Second
