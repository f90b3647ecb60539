package org.apache.dubbo.interop.consumer;

import com.google.protobuf.ByteString;
import com.google.protobuf.Duration;
import com.google.protobuf.Int64Value;
import com.google.protobuf.StringValue;
import com.google.protobuf.Timestamp;
import dubbo.interop.v1.Attachment;
import dubbo.interop.v1.AttachmentsRequest;
import dubbo.interop.v1.AttachmentsResponse;
import dubbo.interop.v1.BigPayloadRequest;
import dubbo.interop.v1.BigPayloadResponse;
import dubbo.interop.v1.Color;
import dubbo.interop.v1.EchoMessage;
import dubbo.interop.v1.FailRequest;
import dubbo.interop.v1.GreetRequest;
import dubbo.interop.v1.Greeter;
import dubbo.interop.v1.SleepRequest;
import org.apache.dubbo.interop.consumer.References.Wanted;
import org.apache.dubbo.rpc.RpcContext;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.UnaryOperator;

/** Calls of the protobuf service that have one answer. */
final class GreeterCases {
    private GreeterCases() {}

    static void addTo(Map<String, Case> cases) {
        cases.put("greet", greet("dubbo"));
        cases.put("greet_empty", greet(""));
        cases.put("greet_unicode", greet("é 中文 😀"));
        cases.put("echo_all", echo(full()));
        cases.put("echo_zero", echo(EchoMessage.getDefaultInstance()));
        cases.put("big_2m", big(2 << 20, 2 << 20));
        cases.put("big_request_over", big(5 << 20, 1));
        cases.put("big_response_over", big(1, 5 << 20));
        cases.put("method_case_exact", t -> t.greeter().lowerCase(named("dubbo")).getGreeting());

        cases.put("fail_plain", fail(FailRequest.Kind.PLAIN, "boom"));
        cases.put("fail_plain_percent", fail(FailRequest.Kind.PLAIN, "50% + é\n\t中 end "));
        cases.put("fail_plain_empty", fail(FailRequest.Kind.PLAIN, ""));
        cases.put("fail_panic", fail(FailRequest.Kind.PANIC, "panicked"));
        cases.put("fail_context", t -> t.refer(Greeter.class, hasty())
                .fail(FailRequest.newBuilder().setKind(FailRequest.Kind.CONTEXT).build()));
        List<Integer> codes = new ArrayList<>(List.of(99));
        for (int code = 1; code <= 17; code++) codes.add(code);
        for (int code : codes) {
            FailRequest.Builder request = FailRequest.newBuilder().setCode(code).setMessage("status as asked");
            cases.put(String.format("fail_code_%02d", code), fail(request.build()));
            cases.put(String.format("fail_details_%02d", code), fail(request.addDetails("one").addDetails("two").build()));
        }

        cases.put("sleep_ok", sleep(usual -> usual, 100));
        cases.put("sleep_timeout", sleep(hasty(), 1000));
        cases.put("sleep_call_timeout", t -> {
            Greeter greeter = t.greeter();
            RpcContext.getClientAttachment().setObjectAttachment("timeout", 200);
            return greeter.sleep(SleepRequest.newBuilder().setMillis(1000).build()).getSleptMillis();
        });

        cases.put("group_version", greetAs("g1", "1.0.0"));
        cases.put("group_wrong_version", greetAs("g1", "9.9.9"));
        cases.put("group_without_version", greetAs("g1", ""));
        cases.put("wrong_version", greetAs("", "9.9.9"));
        cases.put("wrong_group", greetAs("nogroup", ""));

        cases.put("attachments_map", t -> attachments(t, Map.of("userId", "7", "X-Mixed-Case", "v"),
                "reply-one", "1", "Reply-Two", "2a"));
        cases.put("attachments_nonascii", t -> attachments(t, Map.of("city", "Zürich 中"), "reply-city", "Zürich 中"));
    }

    static GreetRequest named(String name) { return GreetRequest.newBuilder().setName(name).build(); }

    static UnaryOperator<Wanted> hasty() { return usual -> usual.within(Target.HASTY); }

    static Case greet(String name) { return t -> t.greeter().greet(named(name)).getGreeting(); }

    private static Case greetAs(String group, String version) {
        return t -> t.refer(Greeter.class, usual -> usual.keyed(group, version)).greet(named("dubbo")).getGreeting();
    }

    private static Case echo(EchoMessage message) {
        return t -> message.equals(t.greeter().echo(message)) ? "equal" : "another message";
    }

    private static Case big(int request, int response) {
        BigPayloadRequest message = BigPayloadRequest.newBuilder()
                .setPayload(ByteString.copyFrom(UserCases.pattern(request)))
                .setResponseSize(response)
                .build();
        return t -> {
            BigPayloadResponse answer = t.refer(Greeter.class, usual -> usual.within(Target.PATIENT)).bigPayload(message);
            boolean asAsked = answer.getPayload().equals(ByteString.copyFrom(UserCases.pattern(response)));
            return Map.of("received", answer.getReceived(), "as_asked", asAsked);
        };
    }

    private static Case fail(FailRequest.Kind kind, String message) {
        return fail(FailRequest.newBuilder().setKind(kind).setMessage(message).build());
    }

    private static Case fail(FailRequest request) {
        return t -> {
            t.greeter().fail(request);
            return "no error";
        };
    }

    static Case sleep(UnaryOperator<Wanted> change, long millis) {
        return t -> t.refer(Greeter.class, change).sleep(SleepRequest.newBuilder().setMillis(millis).build()).getSleptMillis();
    }

    /** Dubbo Java gives an application what came as headers and as trailers in one map. */
    private static Object attachments(Target t, Map<String, String> sent, String... reply) {
        AttachmentsRequest.Builder request = AttachmentsRequest.newBuilder();
        for (int i = 0; i < reply.length; i += 2) {
            request.addReply(Attachment.newBuilder().setKey(reply[i]).setValue(reply[i + 1]));
        }
        Greeter greeter = t.greeter();
        sent.forEach((name, value) -> RpcContext.getClientAttachment().setAttachment(name, value));
        AttachmentsResponse response = greeter.attachments(request.build());
        List<String> seen = new ArrayList<>();
        for (Attachment a : response.getSeenList()) seen.add(a.getKey() + ": " + a.getValue());
        Map<String, Object> got = new LinkedHashMap<>();
        got.put("seen", seen);
        got.put("trailer", lines(RpcContext.getClientResponseContext().getObjectAttachments()));
        return got;
    }

    /** "name: value" each, names in lower case and sorted. */
    static List<String> lines(Map<String, Object> attachments) {
        List<String> lines = new ArrayList<>();
        attachments.forEach((name, value) -> lines.add(name.toLowerCase(Locale.ROOT) + ": " + value));
        Collections.sort(lines);
        return lines;
    }

    /** A message with every kind of field. */
    private static EchoMessage full() {
        EchoMessage.Nested leaf = EchoMessage.Nested.newBuilder().setName("leaf").setId(Long.MIN_VALUE).build();
        EchoMessage.Nested nested = EchoMessage.Nested.newBuilder().setName("n").setId(7).setChild(leaf).build();
        return EchoMessage.newBuilder()
                .setFDouble(1.5).setFFloat(1.1f).setFInt32(-1).setFInt64(Long.MAX_VALUE).setFUint32(-1).setFUint64(-1L)
                .setFSint32(-5).setFSint64(-6L).setFFixed32(1).setFFixed64(2).setFSfixed32(-3).setFSfixed64(-4)
                .setFBool(true).setFString("s中😀").setFBytes(ByteString.copyFrom(new byte[] {0, -1}))
                .setFEnum(Color.COLOR_BLUE).setFNested(nested)
                .addRInt32(1).addRInt32(-2).addRString("a").addRString("").addRBytes(ByteString.EMPTY)
                .addREnum(Color.COLOR_NEGATIVE).addRNested(leaf).addRDouble(0.1).addRDouble(2)
                .putMString("k", "v").putMNested(-1L, leaf).putMEnum(true, Color.COLOR_RED)
                .setONested(leaf).setOptInt32(0).setOptString("")
                .setTs(Timestamp.newBuilder().setSeconds(1700000000L).setNanos(1))
                .setDuration(Duration.newBuilder().setSeconds(-3).setNanos(-5))
                .setAny(com.google.protobuf.Any.pack(leaf))
                .setWrapped(StringValue.of("w")).setWrappedInt64(Int64Value.of(1L << 40))
                .build();
    }
}
