package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"net/http"
	"sort"
	"strings"
	"time"

	"dubbo.apache.org/dubbo-go/v3/client"
	dubbocommon "dubbo.apache.org/dubbo-go/v3/common"
	"dubbo.apache.org/dubbo-go/v3/protocol/result"
	"dubbo.apache.org/dubbo-go/v3/remoting"

	"dubbo-rust/interop/go/internal/impl"
)

var userCases = []testCase{
	{"user_get", shown(user[*impl.User]("getUser", "A1"))},
	{"user_get_many", shownAll(user[[]*impl.User]("getUsers", []string{"A", "B"}))},
	{"user_get_map", func(ctx context.Context, e *env) (any, error) {
		got, err := user[any]("getUserMap", []string{"A"})(ctx, e)
		users := map[string]any{}
		if m, ok := got.(map[any]any); ok {
			for id, u := range m {
				users[fmt.Sprint(id)] = show(u)
			}
		}
		return answer(users, err)
	}},
	{"user_echo", equal("echoUser", impl.NewUser("E"))},
	{"user_null", shown(user[*impl.User]("echoUser", (*impl.User)(nil)))},
	{"user_cycle", func(ctx context.Context, e *env) (any, error) {
		u := impl.NewUser("A")
		u.Friend = u
		return equal("echoUser", u)(ctx, e)
	}},
	{"user_bag", equal("echoBag", &impl.Bag{
		Items: []any{int32(1), "two", int64(3), nil, impl.NewUser("A")}, Map: map[any]any{"a": int32(1), int32(2): "b"},
		Address: &impl.Address{City: "Zürich", Zip: 8000}, Set: &impl.HashSet{Value: []any{"x", "y"}},
	})},
	{"user_hello", hello("é 中文 😀")},
	{"user_nothing", shown(user[*impl.User]("nothing", "x"))},
	{"user_void", user[any]("fire", "x")},
	{"user_mix", shown(user[*impl.User]("mix", "new", int32(9), impl.NewUser("A")))},
	{"user_mix_null", func(ctx context.Context, e *env) (any, error) {
		got, err := user[*impl.User]("mix", "new", int32(9), (*impl.User)(nil))(ctx, e)
		if u, ok := got.(*impl.User); ok && err == nil {
			return []any{u.Name, u.Age}, nil
		}
		return nil, err
	}},
	{"user_no_args", user[string]("noArgs")},
	{"user_async", sayAsync},
	{"user_oneway", oneway},
	{"user_decimal", func(ctx context.Context, e *env) (any, error) {
		d := &impl.Decimal{}
		if err := d.FromString("-12345678901234567890.123456789"); err != nil {
			return nil, err
		}
		got, err := user[*impl.Decimal]("decimal", d)(ctx, e)
		return answer(fmt.Sprint(got), err)
	}},
	{"user_integer", func(ctx context.Context, e *env) (any, error) {
		i := &impl.Integer{}
		if err := i.FromString("-123456789012345678901234567890"); err != nil {
			return nil, err
		}
		got, err := user[*impl.Integer]("integer", i)(ctx, e)
		return answer(fmt.Sprint(got), err)
	}},
	{"user_ping", equal("ping", impl.Pattern(5))},
	{"user_big_900k", bigBytes(900_000)},
	{"user_big_2m", bigBytes(2 << 20)},
	{"user_service_echo", user[string]("$echo", "OK")},
	{"user_group_version", userWith[string](grouped, "hello", "x")},
	{"user_wrong_version", userWith[string](reference{version: "9.9.9"}, "hello", "x")},
	{"user_wrong_group", userWith[string](reference{group: "nogroup"}, "hello", "x")},
	{"user_unknown_method", user[string]("noSuchMethod", "x")},
	{"user_wrong_arguments", user[string]("hello", "a", "b")},
	{"user_wrong_type", user[string]("hello", int32(5))},
	{"user_unknown_service", func(ctx context.Context, e *env) (any, error) {
		c, err := e.referUser(impl.JavaPackage+"Nobody", reference{})
		if err != nil {
			return nil, err
		}
		var got string
		err = c.CallUnary(ctx, []any{"x"}, &got, "hello")
		return answer(got, err)
	}},
	{"user_timeout", userWith[string](hasty, "sleep", int64(1000))},
	{"user_after_timeout", func(ctx context.Context, e *env) (any, error) {
		time.Sleep(time.Second)
		return hello("again")(ctx, e)
	}},
	{"user_attachments", userAttachments("user_attachments", map[string]any{"userId": "7", "X-Mixed-Case": "v"})},
	{"user_attachments_nonascii", userAttachments("user_attachments_nonascii", map[string]any{"city": "Zürich 中"})},
	{"user_attachments_object", userAttachments("user_attachments_object", map[string]any{"n": int32(7), "b": true, "l": []any{"a", int64(1)}})},

	{"error_plain", user[string]("fail", "boom")},
	{"error_text", user[string]("fail", "50% + é\n\t中 end ")},
	{"error_status", user[string]("failStatus", int32(3), "bad name")},
	{"error_checked", user[string]("throwChecked", "checked")},
	{"error_runtime", user[string]("throwRuntime", "runtime")},
	{"error_cause", user[string]("throwUndeclared", "outer")},
	{"error_null_message", user[string]("throwNullMessage")},

	{"heartbeat", heartbeat},
}

// user calls a method that answers with an R.
func user[R any](method string, args ...any) call { return userWith[R](reference{}, method, args...) }

func userWith[R any](ref reference, method string, args ...any) call {
	return func(ctx context.Context, e *env) (any, error) {
		c, err := e.user()
		var options []client.CallOption
		if ref != (reference{}) {
			c, err = e.referUser(impl.UserServiceName, ref)
			if e.protocol == "dubbo" && ref.timeout > 0 {
				// Over dubbo the timeout of a reference gives way to that of the call, also when the call has none.
				options = append(options, client.WithCallRequestTimeout(ref.timeout))
			}
		}
		if err != nil {
			return nil, err
		}
		var got R
		err = c.CallUnary(ctx, args, &got, method, options...)
		return answer(any(got), err)
	}
}

func hello(name string) call { return user[string]("hello", name) }

// equal calls a method that gives back its argument.
func equal(method string, sent any) call {
	return func(ctx context.Context, e *env) (any, error) {
		var got any
		var err error
		switch sent.(type) {
		case *impl.User:
			got, err = user[*impl.User](method, sent)(ctx, e)
		case *impl.Bag:
			got, err = user[*impl.Bag](method, sent)(ctx, e)
		default:
			got, err = user[[]byte](method, sent)(ctx, e)
		}
		if err == nil && text(got) == text(sent) {
			return "equal", nil
		}
		return answer(text(got), err)
	}
}

// bigBytes sends as much as it gets.
func bigBytes(size int) call {
	return func(ctx context.Context, e *env) (any, error) {
		got, err := userWith[[]byte](patient, "big", impl.Pattern(size), int32(size))(ctx, e)
		if err != nil {
			return nil, err
		}
		return map[string]any{"as_asked": bytes.Equal(got.([]byte), impl.Pattern(size))}, nil
	}
}

func shown(f call) call {
	return func(ctx context.Context, e *env) (any, error) {
		got, err := f(ctx, e)
		return answer(show(got), err)
	}
}

func shownAll(f call) call {
	return func(ctx context.Context, e *env) (any, error) {
		got, err := f(ctx, e)
		users := []any{}
		if list, ok := got.([]*impl.User); ok {
			for _, u := range list {
				users = append(users, show(u))
			}
		}
		return answer(users, err)
	}
}

// show is a user as every consumer prints it.
func show(v any) any {
	u, ok := v.(*impl.User)
	if !ok {
		return v
	}
	if u == nil {
		return nil
	}
	var friend any
	if u.Friend != nil {
		friend = u.Friend.ID
	}
	return map[string]any{
		"id": u.ID, "name": u.Name, "age": u.Age, "score": u.Score, "rate": u.Rate, "active": u.Active,
		"birth": u.Birth.UnixMilli(), "gender": u.Gender.String(), "tags": u.Tags, "attrs": u.Attrs, "friend": friend,
		"photo": hex.EncodeToString(u.Photo),
	}
}

// userAttachments reports what the provider saw and, over Triple, what came back: over dubbo
// the framework does not show it.
func userAttachments(name string, sent map[string]any) call {
	return func(ctx context.Context, e *env) (any, error) {
		c, err := e.user()
		if err != nil {
			return nil, err
		}
		var got map[any]any
		var trailer http.Header
		ctx = attach(ctx, e.protocol+"/"+name, sent)
		err = c.CallUnary(ctx, []any{"reply"}, &got, "attachments", client.WithResponseTrailer(&trailer))
		seen := []string{}
		for name, value := range got {
			seen = append(seen, strings.ToLower(fmt.Sprint(name))+": "+fmt.Sprint(value))
		}
		sort.Strings(seen)
		return answer(map[string]any{"seen": seen, "back": lines(trailer)}, err)
	}
}

// asyncUser gets its answers through a callback.
type asyncUser struct {
	SayAsync func(ctx context.Context, s string) (string, error) `dubbo:"sayAsync"`
	done     chan dubbocommon.CallbackResponse
}

func (*asyncUser) Reference() string { return impl.UserServiceName }

func (a *asyncUser) CallBack(r dubbocommon.CallbackResponse) { a.done <- r }

// sayAsync is asynchronous over dubbo, which is where dubbo-go knows such calls.
func sayAsync(ctx context.Context, e *env) (any, error) {
	if e.protocol != "dubbo" {
		return user[string]("sayAsync", "x")(ctx, e)
	}
	svc := &asyncUser{done: make(chan dubbocommon.CallbackResponse, 1)}
	cli, err := e.client(reference{})
	if err != nil {
		return nil, err
	}
	if _, err := cli.DialWithService(impl.UserServiceName, svc, append(e.hessian(reference{}), client.WithAsync())...); err != nil {
		return nil, err
	}
	if _, err := svc.SayAsync(ctx, "x"); err != nil {
		return nil, err
	}
	select {
	case r := <-svc.done:
		return callbackValue(r)
	case <-time.After(2 * time.Second):
		return nil, fmt.Errorf("no callback came")
	}
}

func callbackValue(r dubbocommon.CallbackResponse) (any, error) {
	called, ok := r.(remoting.AsyncCallbackResponse)
	if !ok {
		return nil, fmt.Errorf("the callback got a %T", r)
	}
	response, ok := called.Reply.(*remoting.Response)
	if !ok {
		return nil, fmt.Errorf("the callback got a reply of type %T", called.Reply)
	}
	rpc, ok := response.Result.(*result.RPCResult)
	if !ok {
		return nil, fmt.Errorf("the callback got a result of type %T", response.Result)
	}
	return rpc.Rest, rpc.Err
}

// onewayUser has no callback: its calls want no answer.
type onewayUser struct {
	Oneway func(ctx context.Context, s string) error `dubbo:"oneway"`
}

func (*onewayUser) Reference() string { return impl.UserServiceName }

// oneway counts the calls that reach the provider; over Triple dubbo-go knows no call without an answer.
func oneway(ctx context.Context, e *env) (any, error) {
	before, err := user[int32]("onewayCount")(ctx, e)
	if err != nil {
		return nil, err
	}
	if e.protocol == "dubbo" {
		svc := &onewayUser{}
		cli, err := e.client(reference{})
		if err != nil {
			return nil, err
		}
		if _, err := cli.DialWithService(impl.UserServiceName, svc, append(e.hessian(reference{}), client.WithAsync())...); err != nil {
			return nil, err
		}
		if err := svc.Oneway(ctx, "x"); err != nil {
			return nil, err
		}
	} else if _, err := user[any]("oneway", "x")(ctx, e); err != nil {
		return nil, err
	}
	time.Sleep(200 * time.Millisecond)
	after, err := user[int32]("onewayCount")(ctx, e)
	if err != nil {
		return nil, err
	}
	return after.(int32) - before.(int32), nil
}
