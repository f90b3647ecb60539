package org.apache.dubbo.interop.consumer;

import org.apache.dubbo.interop.Lines;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * Calls at a steady rate until it is over, and prints a few times a second how the calls went so far. They count from the first
 * one that is answered: until then the provider may not be there.
 */
final class Load implements Runnable {
    private final String contract;
    private final String service;
    private final Supplier<String> call;
    private final long everyMillis;
    private final CountDownLatch over;
    private final Map<String, Integer> by = new TreeMap<>();
    private String error;
    private int calls;
    private int failed;

    Load(String contract, Class<?> service, Supplier<String> call, long everyMillis, CountDownLatch over) {
        this.contract = contract;
        this.service = service.getName();
        this.call = call;
        this.everyMillis = everyMillis;
        this.over = over;
    }

    @Override public void run() {
        try {
            long next = System.nanoTime();
            long said = next;
            do {
                callOnce();
                long now = System.nanoTime();
                if (now - said >= SAY_EVERY_NANOS) {
                    say("progress");
                    said = now;
                }
                next = Math.max(next + TimeUnit.MILLISECONDS.toNanos(everyMillis), now);
            } while (!over.await(next - System.nanoTime(), TimeUnit.NANOSECONDS));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        say("totals");
    }

    private void callOnce() {
        try {
            String answer = call.get();
            int from = answer.indexOf(" from ");
            by.merge(from < 0 ? "" : answer.substring(from + " from ".length()), 1, Integer::sum);
        } catch (Throwable t) {
            if (calls == 0) return;
            failed++;
            if (error == null) error = String.valueOf(Fault.of(t).get("message"));
        }
        calls++;
    }

    private void say(String event) {
        Map<String, Object> line = new LinkedHashMap<>();
        line.put("event", event);
        line.put("contract", contract);
        line.put("calls", calls);
        line.put("failed", failed);
        if (error != null) line.put("error", error);
        line.put("by", by);
        line.put("ways", Ways.of(service));
        Lines.print(line);
    }

    private static final long SAY_EVERY_NANOS = TimeUnit.MILLISECONDS.toNanos(250);
}
