package main

import (
	"context"
	"time"
)

// shutdownInFlight has a call under way when the provider is told to stop, and makes one more
// call while it stops.
func shutdownInFlight(ctx context.Context, e *env) (any, error) {
	if e.protocol == "tri" {
		return shutdownWatched(ctx, e)
	}
	late := make(chan any, 1)
	time.AfterFunc(time.Second, func() {
		got, err := hello("late")(ctx, e)
		if err != nil {
			got = describe(err)
		}
		late <- got
	})
	slept, err := userWith[string](patient, "sleep", int64(2000))(ctx, e)
	return map[string]any{"slept": slept, "late": <-late}, err
}

// shutdownWatched does the same, and watches the health of the service meanwhile.
func shutdownWatched(ctx context.Context, e *env) (any, error) {
	next, err := watch(ctx, e, greeterName)
	if err != nil {
		return nil, err
	}
	before, err := next()
	if err != nil {
		return nil, err
	}
	type result struct {
		slept any
		err   error
	}
	sleeping := make(chan result, 1)
	go func() {
		slept, err := sleep(patient, 2000)(ctx, e)
		sleeping <- result{slept, err}
	}()
	during, err := next()
	if err != nil {
		return nil, err
	}
	// The notice may arrive before the provider has stopped to take calls.
	time.Sleep(300 * time.Millisecond)
	_, late := greet("late")(ctx, e)
	got := map[string]any{"before": before, "during": during}
	if late != nil {
		got["late"] = describe(late)
	}
	r := <-sleeping
	got["slept"] = r.slept
	return got, r.err
}

// callUntil calls until the outcome is as wanted, fifteen seconds at most: a dubbo-go
// provider that stops waits ten seconds for its watchers to leave.
func callUntil(done func(error) bool) call {
	return func(ctx context.Context, e *env) (got any, err error) {
		f := greet("dubbo")
		if e.protocol == "dubbo" {
			f = hello("dubbo")
		}
		for start := time.Now(); time.Since(start) < 15*time.Second; time.Sleep(50 * time.Millisecond) {
			if got, err = f(ctx, e); done(err) {
				break
			}
		}
		return got, err
	}
}

// heartbeat is silent for longer than a provider waits for one, and tells whether that ended a
// connection. The framework spreads calls over sixteen, which it opens by and by.
func heartbeat(ctx context.Context, e *env) (any, error) {
	before, err := connections(ctx, e)
	if err != nil {
		return nil, err
	}
	time.Sleep(4500 * time.Millisecond)
	after, err := connections(ctx, e)
	if err != nil {
		return nil, err
	}
	for address := range before {
		if !after[address] {
			return "another connection", nil
		}
	}
	return "the same connection", nil
}

// connections are those that the provider sees, in so many calls that none is missed.
func connections(ctx context.Context, e *env) (map[any]bool, error) {
	seen := map[any]bool{}
	for range 400 {
		address, err := user[string]("remote")(ctx, e)
		if err != nil {
			return nil, err
		}
		seen[address] = true
	}
	return seen, nil
}
