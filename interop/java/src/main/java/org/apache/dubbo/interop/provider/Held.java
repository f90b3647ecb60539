package org.apache.dubbo.interop.provider;

import org.apache.dubbo.interop.Lines;
import org.apache.dubbo.rpc.RpcContext;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** A call that waits: the runner is told when it begins, and of a stream when it is cancelled before it ends. */
final class Held {
    private final String kase = caseOfCall();
    private final String method;
    private final List<String> seen = attachmentsIfAsked();
    private final long start = System.nanoTime();
    private final CountDownLatch over = new CountDownLatch(1);

    /** A call with one answer. Dubbo lets its handler run on, whatever becomes of the call. */
    Held(String method) {
        this.method = method;
        say("held");
    }

    /** A call with streams. */
    static Held stream(String method) {
        Held held = new Held(method);
        RpcContext.getCancellationContext().addListener(context -> held.cutShort());
        return held;
    }

    /** The name of the case that the call belongs to. */
    static String caseOfCall() {
        Object name = RpcContext.getServerAttachment().getObjectAttachment("interop-case");
        return name == null ? "" : name.toString();
    }

    /** The attachments, as "name: value", of a call that wants them told. */
    private static List<String> attachmentsIfAsked() {
        Map<String, Object> all = RpcContext.getServerAttachment().getObjectAttachments();
        if (!all.containsKey("interop-tell")) return List.of();
        List<String> lines = new ArrayList<>();
        all.forEach((name, value) -> lines.add(name.toLowerCase(Locale.ROOT) + ": " + value));
        return lines;
    }

    /** Waits that long, or until the call is cancelled. */
    void pause(long millis) {
        try {
            over.await(millis, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    boolean isOver() { return over.getCount() == 0; }

    /** The call has ended well; what comes later is no news. */
    synchronized void done() { over.countDown(); }

    synchronized void cutShort() {
        if (isOver()) return;
        over.countDown();
        say("cut_short");
    }

    private void say(String event) {
        Map<String, Object> line = new LinkedHashMap<>();
        line.put("event", event);
        line.put("case", kase);
        line.put("method", method);
        line.put("millis", (System.nanoTime() - start) / 1_000_000);
        if (!seen.isEmpty()) line.put("seen", seen);
        Lines.print(line);
    }
}
