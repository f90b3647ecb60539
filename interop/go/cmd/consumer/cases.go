package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"dubbo.apache.org/dubbo-go/v3/client"
	tri "dubbo.apache.org/dubbo-go/v3/protocol/triple/triple_protocol"

	pb "dubbo-rust/interop/go/gen/interopv1"
	"dubbo-rust/interop/go/internal/impl"
)

const greeterName = "dubbo.interop.v1.Greeter"

var (
	grouped = reference{group: "g1", version: "1.0.0"}
	patient = reference{timeout: 10 * time.Second}
	hasty   = reference{timeout: 300 * time.Millisecond}
)

// The names and what they mean are shared with the other consumers.
var cases = slices.Concat(greeterCases, errorCodes("fail_code_%02d"), errorCodes("fail_details_%02d", "one", "two"),
	userCases, echoCases, genericCases)

var greeterCases = []testCase{
	{"greet", greet("dubbo")},
	{"greet_empty", greet("")},
	{"greet_unicode", greet("é 中文 😀")},
	{"echo_all", echo(impl.FullEcho())},
	{"echo_zero", echo(&pb.EchoMessage{})},

	{"server_stream", serverStream(&pb.GreetRequest{Name: "dubbo", Count: 3})},
	{"server_stream_none", serverStream(&pb.GreetRequest{Name: "dubbo"})},
	{"server_stream_fail_first", serverStream(&pb.GreetRequest{Name: "dubbo", Count: 5, FailAfter: 2, FailCode: 9})},
	{"server_stream_many", lastOf(serverStream(&pb.GreetRequest{Name: "dubbo", Count: 2000}))},
	{"server_stream_attachments", serverStreamTrailer},
	{"client_stream", clientStream("a", "b", "c")},
	{"client_stream_none", clientStream()},
	{"client_stream_fail", clientStreamFail},
	{"client_stream_many", clientStream(many(500)...)},
	{"client_stream_attachments", clientStreamTrailer},
	{"bidi", bidi(0, "a", "b", "c")},
	{"bidi_none", bidi(0)},
	{"bidi_fail", bidi(7, "a", "fail")},
	{"bidi_many", lastOf(bidi(0, many(500)...))},
	{"bidi_attachments", bidiTrailer},

	{"fail_plain", fail(&pb.FailRequest{Kind: pb.FailRequest_PLAIN, Message: "boom"})},
	{"fail_plain_percent", fail(&pb.FailRequest{Kind: pb.FailRequest_PLAIN, Message: "50% + é\n\t中 end "})},
	{"fail_plain_empty", fail(&pb.FailRequest{Kind: pb.FailRequest_PLAIN})},
	{"fail_panic", fail(&pb.FailRequest{Kind: pb.FailRequest_PANIC, Message: "panicked"})},
	{"fail_context", failWith(hasty, &pb.FailRequest{Kind: pb.FailRequest_CONTEXT})},

	{"sleep_ok", sleep(reference{}, 100)},
	{"sleep_timeout", sleep(hasty, 1000)},
	{"sleep_call_timeout", sleep(reference{}, 1000, client.WithCallRequestTimeout(200*time.Millisecond))},
	{"sleep_ctx_deadline", within(250*time.Millisecond, sleep(reference{}, 1000))},
	{"stream_ctx_deadline", within(250*time.Millisecond, serverStream(&pb.GreetRequest{Name: "x", Count: 1, DelayMillis: 1000}))},
	{"cancel", cancelledAfter(200*time.Millisecond, sleep(reference{}, 1000))},
	{"cancel_stream", cancelServerStream},
	{"cancel_client_stream", cancelClientStream},
	{"cancel_bidi", cancelBidi},

	{"big_2m", big(2<<20, 2<<20)},
	{"big_request_over", big(5<<20, 1)},
	{"big_response_over", big(1, 5<<20)},

	{"unknown_method", callGreet(greeterName, "NoSuchMethod")},
	{"unknown_service", callGreet("dubbo.interop.v1.Nobody", "Greet")},
	{"method_case_lower", callGreet(greeterName, "greet")},
	{"method_case_upper", callGreet(greeterName, "LowerCase")},
	{"method_case_exact", callGreet(greeterName, "lowerCase")},
	{"method_case_wrong", callGreet(greeterName, "GREET")},
	{"group_version", greetWith(grouped)},
	{"group_wrong_version", greetWith(reference{group: "g1", version: "9.9.9"})},
	{"group_without_version", greetWith(reference{group: "g1"})},
	{"wrong_version", greetWith(reference{version: "9.9.9"})},
	{"wrong_group", greetWith(reference{group: "nogroup"})},

	{"attachments_map", func(ctx context.Context, e *env) (any, error) {
		return attachments(attach(ctx, "tri/attachments_map", map[string]any{
			"userId": "7", "multi": []string{"a", "b"}, "X-Mixed-Case": "v", "blob-bin": tri.EncodeBinaryHeader([]byte{0, 1, 0xfe, 0xff}),
		}), e, &pb.AttachmentsRequest{Reply: []*pb.Attachment{
			{Key: "reply-one", Value: "1"},
			{Key: "Reply-Two", Value: "2a"},
			{Key: "Reply-Two", Value: "2b"},
			{Key: "reply-bin", Value: tri.EncodeBinaryHeader([]byte{0, 1, 0xfe, 0xff})},
		}})
	}},
	{"attachments_header", func(ctx context.Context, e *env) (any, error) {
		return attachments(tri.AppendToOutgoingContext(ctx, "userId", "7", "multi", "a", "multi", "b"), e, &pb.AttachmentsRequest{
			AsHeader: true, Reply: []*pb.Attachment{{Key: "reply-header", Value: "1"}},
		})
	}},
	{"attachments_nonascii", func(ctx context.Context, e *env) (any, error) {
		return attachments(attach(ctx, "tri/attachments_nonascii", map[string]any{"city": "Zürich 中"}), e, &pb.AttachmentsRequest{
			Reply: []*pb.Attachment{{Key: "reply-city", Value: "Zürich 中"}},
		})
	}},
	{"attachments_newline", func(ctx context.Context, e *env) (any, error) {
		return attachments(attach(ctx, "tri/attachments_newline", map[string]any{"bad": "a\nb"}), e, &pb.AttachmentsRequest{})
	}},

	{"health_check", health("")},
	{"health_check_service", health(greeterName)},
	{"health_check_group", health("g1/" + greeterName + ":1.0.0")},
	{"health_check_unknown", health("no.such.Service")},
	{"health_watch", healthWatch(greeterName)},
	{"health_watch_unknown", healthWatch("no.such.Service")},

	{"shutdown_inflight", shutdownInFlight},
	{"shutdown_after", callUntil(func(err error) bool { return err != nil })},
	{"shutdown_reconnect", callUntil(func(err error) bool { return err == nil })},
}

// errorCodes asks for each code of the protocol, and for one that it does not know.
func errorCodes(format string, details ...string) (out []testCase) {
	for _, code := range []int32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 99} {
		r := &pb.FailRequest{Code: code, Message: "status as asked", Details: details}
		out = append(out, testCase{fmt.Sprintf(format, code), fail(r)})
	}
	return out
}

func many(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprint(i))
	}
	return names
}
