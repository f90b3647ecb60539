package main

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"dubbo.apache.org/dubbo-go/v3/common/extension"
	"dubbo.apache.org/dubbo-go/v3/filter"
	"dubbo.apache.org/dubbo-go/v3/protocol/base"
	"dubbo.apache.org/dubbo-go/v3/protocol/result"
)

// tally is how the calls of a contract went so far, as many at once as there are: it is printed a few times a second, and
// at the end.
type tally struct {
	// Event is "progress" or "totals".
	Event    string `json:"event"`
	Contract string `json:"contract"`
	Calls    int    `json:"calls"`
	Failed   int    `json:"failed"`
	// By says how many calls each provider has answered.
	By map[string]int `json:"by"`
	// Retried counts the attempts that were not the first of their calls.
	Retried int64 `json:"retried"`
	// WorstGap is the longest time without an answer, in milliseconds.
	WorstGap int64 `json:"worst_gap"`
	// Losses are the calls that failed since it was printed last.
	Losses []loss `json:"losses"`

	first, last time.Time
	gap         time.Duration
}

// loss is a call that failed. Begun and Ended are on the clock of the machine, in milliseconds.
type loss struct {
	Begun int64  `json:"begun"`
	Ended int64  `json:"ended"`
	Error string `json:"error"`
}

// callAtRate begins so many calls a second until it is over, whether those before are answered or not. The calls count from
// the first answer on: until then the provider may not be there. Those under way at the end are waited for.
func callAtRate(contract string, ask func(context.Context) (string, error), perSecond int, over <-chan struct{}, say func(any)) {
	var mu sync.Mutex
	t := tally{Contract: contract, By: map[string]int{}}
	tell := func(event string) {
		mu.Lock()
		defer mu.Unlock()
		t.Event = event
		t.WorstGap = max(t.gap, t.sinceLast()).Milliseconds()
		say(t)
		t.Losses = nil
	}
	var underWay sync.WaitGroup
	call := func() {
		var attempts atomic.Int64
		begun := time.Now()
		answer, err := ask(context.WithValue(context.Background(), attemptsKey{}, &attempts))
		mu.Lock()
		defer mu.Unlock()
		t.add(begun, answer, err)
		t.Retried += max(0, attempts.Load()-1)
	}
	// A ticker forgets ticks that come late: the callers would not.
	start, begun := time.Now(), 0
	ticks, reports := time.NewTicker(time.Second/time.Duration(perSecond)), time.NewTicker(sayEvery)
	for {
		select {
		case <-over:
			underWay.Wait()
			tell("totals")
			return
		case <-reports.C:
			tell("progress")
		case <-ticks.C:
			for due := int(time.Since(start).Seconds() * float64(perSecond)); begun < due; begun++ {
				underWay.Go(call)
			}
		}
	}
}

func (t *tally) add(begun time.Time, answer string, err error) {
	now := time.Now()
	switch {
	case err == nil:
		_, by, _ := strings.Cut(answer, " from ")
		t.By[by]++
		t.gap = max(t.gap, t.sinceLast())
		if t.first.IsZero() {
			t.first = now
		}
		t.last = now
	case t.first.IsZero() || begun.Before(t.first):
		return
	default:
		t.Failed++
		t.Losses = append(t.Losses, loss{begun.UnixMilli(), now.UnixMilli(), err.Error()})
	}
	t.Calls++
}

func (t *tally) sinceLast() time.Duration {
	if t.last.IsZero() {
		return 0
	}
	return time.Since(t.last)
}

// countAttempts adds to the counter in the context of a call, which it sees once for each attempt.
type countAttempts struct{}

type attemptsKey struct{}

const attemptsFilter = "count-attempts"

func init() {
	extension.SetFilter(attemptsFilter, func() filter.Filter { return countAttempts{} })
}

func (countAttempts) Invoke(ctx context.Context, next base.Invoker, invocation base.Invocation) result.Result {
	if attempts, ok := ctx.Value(attemptsKey{}).(*atomic.Int64); ok {
		attempts.Add(1)
	}
	return next.Invoke(ctx, invocation)
}

func (countAttempts) OnResponse(_ context.Context, r result.Result, _ base.Invoker, _ base.Invocation) result.Result {
	return r
}
