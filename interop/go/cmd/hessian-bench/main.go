// Command hessian-bench times dubbo-go-hessian2 as it is told to on its standard input;
// xtask/src/bench/hessian2.rs has the commands.
package main

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	hessian "github.com/apache/dubbo-go-hessian2"
)

func main() {
	commands := bufio.NewReader(os.Stdin)
	for {
		line, err := commands.ReadString('\n')
		if err != nil {
			return
		}
		answer, err := answer(strings.Fields(line))
		if err != nil {
			answer = "error: " + strings.ReplaceAll(err.Error(), "\n", " ")
		}
		fmt.Println(answer)
	}
}

func answer(words []string) (string, error) {
	s := subjects[words[1]]
	switch words[0] {
	case "write":
		b, err := encode(s.value)
		return hex.EncodeToString(b), err
	case "read":
		b, err := hex.DecodeString(words[2])
		if err != nil {
			return "", err
		}
		s.bytes = b
		got, err := decode(b)
		if err != nil {
			return "", err
		}
		if s.same(got) {
			return "same", nil
		}
		return "other", nil
	case "encode":
		return measure(words[2], func() error {
			b, err := encode(s.value)
			sink = b
			return err
		})
	case "decode":
		return measure(words[2], func() error {
			v, err := decode(s.bytes)
			sink = v
			return err
		})
	}
	return "", fmt.Errorf("no command %q", words[0])
}

func encode(v any) ([]byte, error) {
	e := hessian.NewEncoder()
	err := e.Encode(v)
	return e.Buffer(), err
}

func decode(b []byte) (any, error) { return hessian.NewDecoder(b).Decode() }

// measure gives the nanoseconds of a run.
func measure(millis string, run func() error) (string, error) {
	n, err := strconv.Atoi(millis)
	if err != nil {
		return "", err
	}
	limit := time.Duration(n) * time.Millisecond
	runs, batch := 0, 1
	elapsed, start := time.Duration(0), time.Now()
	for elapsed < limit {
		for range batch {
			if err := run(); err != nil {
				return "", err
			}
		}
		runs += batch
		now := time.Since(start)
		if now-elapsed < batchTime {
			batch *= 2
		}
		elapsed = now
	}
	return strconv.FormatFloat(float64(elapsed.Nanoseconds())/float64(runs), 'f', 3, 64), nil
}

const batchTime = 500 * time.Microsecond

var sink any
