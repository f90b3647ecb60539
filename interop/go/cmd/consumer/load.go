package main

import (
	"context"
	"strings"
	"time"
)

// progress is how the calls of a contract went so far: it is printed a few times a second, and at the end.
type progress struct {
	// Event is "progress" or "totals".
	Event    string `json:"event"`
	Contract string `json:"contract"`
	Calls    int    `json:"calls"`
	Failed   int    `json:"failed"`
	// Error is the first one.
	Error string `json:"error,omitempty"`
	// Errors says how often each came. Those after many others are counted together.
	Errors map[string]int `json:"errors,omitempty"`
	// By says how many calls each provider has answered.
	By map[string]int `json:"by"`
}

// countCalls calls that often until it is over. The calls count from the first one that is answered: until then the
// provider may not be there.
func countCalls(contract string, ask func(context.Context) (string, error), every time.Duration, over <-chan struct{}, say func(any)) {
	counted := progress{Event: "progress", Contract: contract, Errors: map[string]int{}, By: map[string]int{}}
	calls, reports := time.NewTicker(every), time.NewTicker(sayEvery)
	for {
		select {
		case <-over:
			counted.Event = "totals"
			say(counted)
			return
		case <-reports.C:
			say(counted)
		case <-calls.C:
			counted.add(ask(context.Background()))
		}
	}
}

func (p *progress) add(answer string, err error) {
	switch {
	case err == nil:
		_, by, _ := strings.Cut(answer, " from ")
		p.By[by]++
	case p.Calls == 0:
		return
	default:
		p.Failed++
		text := err.Error()
		if p.Error == "" {
			p.Error = text
		}
		if p.Errors[text] == 0 && len(p.Errors) >= maxErrors {
			text = "others"
		}
		p.Errors[text]++
	}
	p.Calls++
}

const (
	sayEvery = 250 * time.Millisecond
	// Some errors have addresses of memory in them.
	maxErrors = 16
)
