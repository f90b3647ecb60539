package org.apache.dubbo.interop;

import com.google.protobuf.ByteString;
import dubbo.interop.v1.GreetRequest;
import dubbo.interop.v1.GreetResponse;
import dubbo.interop.v1.Greeter;
import dubbo.interop.v1.PingMessage;
import org.apache.dubbo.common.stream.StreamObserver;
import org.apache.dubbo.config.ApplicationConfig;
import org.apache.dubbo.config.ReferenceConfig;
import org.apache.dubbo.config.RegistryConfig;
import org.apache.dubbo.config.bootstrap.DubboBootstrap;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.LongStream;

/**
 * Calls the provider at {@code --tri=HOST:PORT} over Triple as it is told to on its standard input;
 * {@code xtask/src/bench/triple/ends.rs} has the commands.
 */
public final class TripleBench {
    private TripleBench() {}

    public static void main(String[] args) throws IOException {
        Greeter greeter = refer(new Flags(args, List.of("tri")).get("tri"));
        ExecutorService threads = Executors.newCachedThreadPool();
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            String answer;
            try {
                answer = obey(greeter, threads, line.split(" "));
            } catch (InterruptedException | ExecutionException | RuntimeException e) {
                answer = "error: " + e.toString().replace('\n', ' ');
            }
            System.out.println(answer);
        }
        Runtime.getRuntime().halt(0);
    }

    private static Greeter refer(String address) {
        ApplicationConfig application = new ApplicationConfig("interop-java-triple-bench");
        application.setQosEnable(false);
        DubboBootstrap.getInstance().application(application).registry(new RegistryConfig("N/A")).start();
        ReferenceConfig<Greeter> reference = new ReferenceConfig<>();
        reference.setInterface(Greeter.class);
        reference.setUrl("tri://" + address);
        reference.setProtocol("tri");
        reference.setProxy("nativestub");
        reference.setTimeout(30_000);
        reference.setRetries(0);
        return reference.get();
    }

    /** {@code ping SIZE MILLIS CALLERS} and {@code stream SIZE MILLIS CALLERS COUNT}. */
    private static String obey(Greeter greeter, ExecutorService threads, String[] words)
            throws InterruptedException, ExecutionException {
        boolean streams = words[0].equals("stream");
        if (!streams && !words[0].equals("ping") || words.length != (streams ? 5 : 4)) {
            throw new IllegalArgumentException(String.join(" ", words));
        }
        byte[] payload = new byte[Integer.parseInt(words[1])];
        Arrays.fill(payload, (byte) 'x');
        Callable<Long> call;
        if (streams) {
            GreetRequest request = GreetRequest.newBuilder()
                    .setNameBytes(ByteString.copyFrom(payload)).setCount(Integer.parseInt(words[4])).build();
            call = () -> stream(greeter, request);
        } else {
            PingMessage request = PingMessage.newBuilder().setPayload(ByteString.copyFrom(payload)).build();
            call = () -> ping(greeter, request);
        }
        return round(threads, Long.parseLong(words[2]) * 1_000_000, Integer.parseInt(words[3]), call);
    }

    private static long ping(Greeter greeter, PingMessage request) {
        if (!greeter.ping(request).getPayload().equals(request.getPayload())) {
            throw new IllegalStateException("the answer is not what was sent");
        }
        return 1;
    }

    private static long stream(Greeter greeter, GreetRequest request) throws InterruptedException, ExecutionException {
        CompletableFuture<Long> all = new CompletableFuture<>();
        greeter.greetServerStream(request, new StreamObserver<>() {
            private long came;

            @Override
            public void onNext(GreetResponse message) {
                came++;
            }

            @Override
            public void onError(Throwable failure) {
                all.completeExceptionally(failure);
            }

            @Override
            public void onCompleted() {
                all.complete(came);
            }
        });
        long came = all.get();
        if (came != request.getCount()) throw new IllegalStateException(came + " of " + request.getCount() + " messages came");
        return came;
    }

    /** The sum of what the calls gave, the nanoseconds they took, and median and 99th percentile of one in microseconds. */
    private static String round(ExecutorService threads, long limit, int callers, Callable<Long> call)
            throws InterruptedException, ExecutionException {
        long start = System.nanoTime();
        List<Future<Done>> each = new ArrayList<>();
        for (int i = 0; i < callers; i++) each.add(threads.submit(() -> calls(start, limit, call)));
        long count = 0;
        LongStream.Builder latencies = LongStream.builder();
        for (Future<Done> future : each) {
            Done done = future.get();
            count += done.count();
            done.latencies().forEach(latencies);
        }
        long elapsed = System.nanoTime() - start;
        long[] sorted = latencies.build().sorted().toArray();
        return count + " " + elapsed + " " + percentile(sorted, 50) + " " + percentile(sorted, 99);
    }

    private static long percentile(long[] sorted, int hundredth) {
        return sorted[(int) ((sorted.length - 1L) * hundredth / 100)] / 1_000;
    }

    /** At least one call. */
    private static Done calls(long start, long limit, Callable<Long> call) throws Exception {
        long count = 0;
        LongStream.Builder latencies = LongStream.builder();
        do {
            long begun = System.nanoTime();
            count += call.call();
            latencies.add(System.nanoTime() - begun);
        } while (System.nanoTime() - start < limit);
        return new Done(count, latencies.build());
    }

    private record Done(long count, LongStream latencies) {}
}
