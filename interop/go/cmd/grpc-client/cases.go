package main

import (
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding/gzip"

	pb "dubbo-rust/interop/go/gen/interopv1"
	"dubbo-rust/interop/go/internal/impl"
)

const (
	service = "dubbo.interop.v1.Greeter"
	hasty   = 300 * time.Millisecond
)

// The names and what they mean are shared with the other consumers.
var cases = map[string]call{
	"greet":         greet(greeter+"Greet", "dubbo"),
	"greet_empty":   greet(greeter+"Greet", ""),
	"greet_unicode": greet(greeter+"Greet", "é 中文 😀"),
	"echo_all":      echo(impl.FullEcho()),
	"echo_zero":     echo(&pb.EchoMessage{}),

	"server_stream":             serverStream(&pb.GreetRequest{Name: "dubbo", Count: 3}),
	"server_stream_none":        serverStream(&pb.GreetRequest{Name: "dubbo"}),
	"server_stream_fail_first":  serverStream(&pb.GreetRequest{Name: "dubbo", Count: 5, FailAfter: 2, FailCode: 9}),
	"server_stream_many":        lastOf(serverStream(&pb.GreetRequest{Name: "dubbo", Count: 2000})),
	"server_stream_attachments": trailers("GreetServerStream"),
	"client_stream":             clientStream(0, "a", "b", "c"),
	"client_stream_none":        clientStream(0),
	"client_stream_fail":        clientStream(7, "a", "fail"),
	"client_stream_many":        clientStream(0, many(500)...),
	"client_stream_attachments": trailers("GreetClientStream"),
	"bidi":                      bidi(0, "a", "b", "c"),
	"bidi_none":                 bidi(0),
	"bidi_fail":                 bidi(7, "a", "fail"),
	"bidi_many":                 lastOf(bidi(0, many(500)...)),
	"bidi_attachments":          trailers("GreetBidi"),

	"fail_plain":         fail(defaultTimeout, &pb.FailRequest{Kind: pb.FailRequest_PLAIN, Message: "boom"}),
	"fail_plain_percent": fail(defaultTimeout, &pb.FailRequest{Kind: pb.FailRequest_PLAIN, Message: "50% + é\n\t中 end "}),
	"fail_plain_empty":   fail(defaultTimeout, &pb.FailRequest{Kind: pb.FailRequest_PLAIN}),
	"fail_panic":         fail(defaultTimeout, &pb.FailRequest{Kind: pb.FailRequest_PANIC, Message: "panicked"}),
	"fail_context":       fail(hasty, &pb.FailRequest{Kind: pb.FailRequest_CONTEXT}),

	"sleep_ok":             sleep(defaultTimeout, 100),
	"sleep_timeout":        sleep(hasty, 1000),
	"sleep_call_timeout":   sleep(200*time.Millisecond, 1000),
	"sleep_ctx_deadline":   sleep(250*time.Millisecond, 1000),
	"stream_ctx_deadline":  within(250*time.Millisecond, serverStream(&pb.GreetRequest{Name: "x", Count: 1, DelayMillis: 1000})),
	"cancel":               cancelledAfter(200*time.Millisecond, sleep(defaultTimeout, 1000)),
	"cancel_stream":        cancelServerStream,
	"cancel_client_stream": cancelClientStream,
	"cancel_bidi":          cancelBidi,

	"big_2m":            big(2<<20, 2<<20),
	"big_request_over":  big(5<<20, 1),
	"big_response_over": big(1, 5<<20),
	"gzip":              greet(greeter+"Greet", "dubbo", grpc.UseCompressor(gzip.Name)),
	"gzip_big":          big(2<<20, 2<<20, grpc.UseCompressor(gzip.Name)),

	"unknown_method":    greet(greeter+"NoSuchMethod", "dubbo"),
	"unknown_service":   greet("/dubbo.interop.v1.Nobody/Greet", "dubbo"),
	"method_case_lower": greet(greeter+"greet", "dubbo"),
	"method_case_upper": greet(greeter+"LowerCase", "dubbo"),
	"method_case_exact": greet(greeter+"lowerCase", "dubbo"),
	"method_case_wrong": greet(greeter+"GREET", "dubbo"),

	"group_version":         of("g1", "1.0.0"),
	"group_wrong_version":   of("g1", "9.9.9"),
	"group_without_version": of("g1", ""),
	"wrong_version":         of("", "9.9.9"),
	"wrong_group":           of("nogroup", ""),

	"attachments_map": sending(
		[]string{"userId", "7", "multi", "a", "multi", "b", "X-Mixed-Case", "v", "blob-bin", "\x00\x01\xfe\xff"},
		attachments(&pb.AttachmentsRequest{Reply: []*pb.Attachment{
			{Key: "reply-one", Value: "1"},
			{Key: "Reply-Two", Value: "2a"},
			{Key: "Reply-Two", Value: "2b"},
			{Key: "reply-bin", Value: "AAH+/w"},
		}}),
	),
	"attachments_header": sending(
		[]string{"userId", "7", "multi", "a", "multi", "b"},
		attachments(&pb.AttachmentsRequest{AsHeader: true, Reply: []*pb.Attachment{{Key: "reply-header", Value: "1"}}}),
	),

	"health_check":         health(""),
	"health_check_service": health(service),
	"health_check_group":   health("g1/" + service + ":1.0.0"),
	"health_check_unknown": health("no.such.Service"),
	"health_watch":         healthWatch(service),
	"health_watch_unknown": healthWatch("no.such.Service"),
}

// Codes of the protocol, and one that it does not know.
func init() {
	for _, code := range []int32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 99} {
		for kind, details := range map[string][]string{"fail_code": nil, "fail_details": {"one", "two"}} {
			in := &pb.FailRequest{Code: code, Message: "status as asked", Details: details}
			cases[fmt.Sprintf("%s_%02d", kind, code)] = fail(defaultTimeout, in)
		}
	}
}

// of greets a service with group and version, which are headers of Triple.
func of(group, version string) call {
	var headers []string
	if group != "" {
		headers = append(headers, "tri-service-group", group)
	}
	if version != "" {
		headers = append(headers, "tri-service-version", version)
	}
	return sending(headers, greet(greeter+"Greet", "dubbo"))
}

func many(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprint(i))
	}
	return names
}
