package org.apache.dubbo.interop;

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
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * Calls the method ping of the provider at {@code --dubbo=HOST:PORT} as it is told to on its standard input;
 * {@code xtask/src/bench/dubbo.rs} has the commands.
 */
public final class Bench {
    private Bench() {}

    public static void main(String[] args) throws IOException {
        Flags flags = new Flags(args, List.of("dubbo", "callers"));
        int callers = Integer.parseInt(flags.get("callers"));
        UserService service = refer(flags.get("dubbo"));
        ExecutorService threads = Executors.newFixedThreadPool(callers);
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            String answer;
            try {
                answer = obey(service, threads, callers, line.split(" "));
            } catch (InterruptedException | ExecutionException | RuntimeException e) {
                answer = "error: " + e;
            }
            System.out.println(answer);
        }
        Runtime.getRuntime().halt(0);
    }

    private static UserService refer(String address) {
        ApplicationConfig application = new ApplicationConfig("interop-java-bench");
        application.setQosEnable(false);
        DubboBootstrap.getInstance().application(application).registry(new RegistryConfig("N/A")).start();
        ReferenceConfig<UserService> reference = new ReferenceConfig<>();
        reference.setInterface(UserService.class);
        reference.setUrl("dubbo://" + address);
        reference.setProtocol("dubbo");
        reference.setTimeout(10_000);
        reference.setRetries(0);
        return reference.get();
    }

    private static String obey(UserService service, ExecutorService threads, int callers, String[] words)
            throws InterruptedException, ExecutionException {
        if (words.length != 3 || !words[0].equals("ping")) throw new IllegalArgumentException(String.join(" ", words));
        byte[] payload = new byte[Integer.parseInt(words[1])];
        Arrays.fill(payload, (byte) 'x');
        long limit = Long.parseLong(words[2]) * 1_000_000;
        long start = System.nanoTime();
        List<Future<Long>> counts = new ArrayList<>();
        for (int i = 0; i < callers; i++) {
            counts.add(threads.submit(() -> {
                long calls = 0;
                for (; System.nanoTime() - start < limit; calls++) {
                    if (!Arrays.equals(service.ping(payload), payload)) {
                        throw new IllegalStateException("the answer is not what was sent");
                    }
                }
                return calls;
            }));
        }
        long calls = 0;
        for (Future<Long> count : counts) calls += count.get();
        return calls + " " + (System.nanoTime() - start);
    }
}
