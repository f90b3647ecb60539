package org.apache.dubbo.interop.provider;

import com.google.protobuf.ByteString;
import com.google.protobuf.Empty;
import dubbo.interop.v1.Attachment;
import dubbo.interop.v1.AttachmentsRequest;
import dubbo.interop.v1.AttachmentsResponse;
import dubbo.interop.v1.BigPayloadRequest;
import dubbo.interop.v1.BigPayloadResponse;
import dubbo.interop.v1.DubboGreeterTriple;
import dubbo.interop.v1.EchoMessage;
import dubbo.interop.v1.FailRequest;
import dubbo.interop.v1.GreetRequest;
import dubbo.interop.v1.GreetResponse;
import dubbo.interop.v1.Greeter;
import dubbo.interop.v1.PingMessage;
import dubbo.interop.v1.SleepRequest;
import dubbo.interop.v1.SleepResponse;
import org.apache.dubbo.common.stream.StreamObserver;
import org.apache.dubbo.rpc.RpcContext;
import org.apache.dubbo.rpc.StatusRpcException;
import org.apache.dubbo.rpc.TriRpcStatus;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.TreeMap;
import java.util.function.Supplier;

/** The protobuf service. Dubbo Java has no way to send error details, and none to send trailers of a stream. */
final class GreeterImpl extends DubboGreeterTriple.GreeterImplBase {
    private final String suffix;
    private final Supplier<Greeter> next;

    /** Answers end with {@code suffix}; {@code next} is asked in turn for attachments, unless it is null. */
    GreeterImpl(String suffix, Supplier<Greeter> next) {
        this.suffix = suffix;
        this.next = next;
    }

    /** The body of big answers. */
    static byte[] pattern(int size) {
        byte[] out = new byte[size];
        for (int i = 0; i < size; i++) out[i] = (byte) (i % 251);
        return out;
    }

    @Override public GreetResponse greet(GreetRequest r) { return greeting("hello " + r.getName() + suffix, 0); }

    @Override public GreetResponse lowerCase(GreetRequest r) { return greeting("lower " + r.getName(), 0); }

    @Override public EchoMessage echo(EchoMessage m) { return m; }

    @Override public PingMessage ping(PingMessage m) { return m; }

    @Override public void greetServerStream(GreetRequest r, StreamObserver<GreetResponse> out) {
        Held held = Held.stream("GreetServerStream");
        for (int i = 0; i < r.getCount(); i++) {
            if (r.getFailAfter() > 0 && i == r.getFailAfter()) {
                held.done();
                out.onError(asAsked(r.getFailCode()));
                return;
            }
            if (r.getDelayMillis() > 0) held.pause(r.getDelayMillis());
            if (held.isOver()) return;
            out.onNext(greeting("hello " + r.getName() + " #" + i, i));
        }
        held.done();
        out.onCompleted();
    }

    @Override public StreamObserver<GreetRequest> greetClientStream(StreamObserver<GreetResponse> out) {
        Held held = Held.stream("GreetClientStream");
        List<String> names = new ArrayList<>();
        return new StreamObserver<>() {
            @Override public void onNext(GreetRequest r) {
                if (r.getName().equals("fail")) {
                    held.done();
                    out.onError(asAsked(r.getFailCode()));
                }
                names.add(r.getName());
            }

            @Override public void onError(Throwable t) { held.cutShort(); }

            @Override public void onCompleted() {
                if (held.isOver()) return;
                held.done();
                out.onNext(greeting("hello " + String.join(",", names), names.size()));
                out.onCompleted();
            }
        };
    }

    @Override public StreamObserver<GreetRequest> greetBidi(StreamObserver<GreetResponse> out) {
        Held held = Held.stream("GreetBidi");
        return new StreamObserver<>() {
            private int seq;

            @Override public void onNext(GreetRequest r) {
                if (r.getName().equals("fail")) {
                    held.done();
                    out.onError(asAsked(r.getFailCode()));
                } else {
                    out.onNext(greeting("hello " + r.getName(), seq++));
                }
            }

            @Override public void onError(Throwable t) { held.cutShort(); }

            @Override public void onCompleted() {
                if (held.isOver()) return;
                held.done();
                out.onCompleted();
            }
        };
    }

    @Override public Empty fail(FailRequest r) {
        switch (r.getKind()) {
            case STATUS:
                throw status(r.getCode(), r.getMessage());
            case PLAIN:
                throw new IllegalStateException(r.getMessage());
            case PANIC:
                throw new Error(r.getMessage());
            default:
                new Held("Fail").pause(5000);
                throw new IllegalStateException("nobody cut the call short");
        }
    }

    @Override public SleepResponse sleep(SleepRequest r) {
        Held held = new Held("Sleep");
        held.pause(r.getMillis());
        held.done();
        return SleepResponse.newBuilder().setSleptMillis(r.getMillis()).build();
    }

    @Override public BigPayloadResponse bigPayload(BigPayloadRequest r) {
        return BigPayloadResponse.newBuilder()
                .setReceived(r.getPayload().size())
                .setPayload(ByteString.copyFrom(pattern(r.getResponseSize())))
                .build();
    }

    @Override public AttachmentsResponse attachments(AttachmentsRequest r) {
        if (next != null) return next.get().attachments(r);
        AttachmentsResponse.Builder response = AttachmentsResponse.newBuilder();
        new TreeMap<>(RpcContext.getServerAttachment().getObjectAttachments()).forEach((name, value) ->
                response.addSeen(attachment(name.toLowerCase(Locale.ROOT), String.valueOf(value))));
        for (Attachment a : r.getReplyList()) RpcContext.getServerContext().setAttachment(a.getKey(), a.getValue());
        return response.build();
    }

    private static Attachment attachment(String name, String value) {
        return Attachment.newBuilder().setKey(name).setValue(value).build();
    }

    private static GreetResponse greeting(String text, int seq) {
        return GreetResponse.newBuilder().setGreeting(text).setSeq(seq).build();
    }

    private static StatusRpcException asAsked(int code) { return status(code, "stream failed as asked"); }

    private static StatusRpcException status(int code, String message) {
        return new StatusRpcException(TriRpcStatus.fromCode(code).withDescription(message));
    }
}
