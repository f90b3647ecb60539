package org.apache.dubbo.interop.consumer;

import org.apache.dubbo.rpc.protocol.tri.CancelableStreamObserver;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/** The items of a stream, as what {@code show} makes of them. */
final class Collected<T> extends CancelableStreamObserver<T> {
    private final Function<T, Object> show;
    private final List<Object> items = new ArrayList<>();
    private final CompletableFuture<Throwable> end = new CompletableFuture<>();

    Collected(Function<T, Object> show) { this.show = show; }

    @Override public synchronized void onNext(T item) {
        items.add(show.apply(item));
        notifyAll();
    }

    @Override public void onError(Throwable t) { end.complete(t); }

    @Override public void onCompleted() { end.complete(null); }

    /** Waits for that many items; false when the stream has ended before. */
    synchronized boolean await(int count) throws Exception {
        long start = System.nanoTime();
        while (items.size() < count && !end.isDone() && System.nanoTime() - start < LIMIT_SECONDS * 1_000_000_000L) wait(20);
        return items.size() >= count;
    }

    synchronized List<Object> soFar() { return List.copyOf(items); }

    /** All items, at the end of the stream. */
    List<Object> all() throws Exception {
        Throwable error = end.get(LIMIT_SECONDS, TimeUnit.SECONDS);
        List<Object> got = soFar();
        if (error != null) throw new Case.Ended(got, error);
        return got;
    }

    private static final long LIMIT_SECONDS = 5;
}
