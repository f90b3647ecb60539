package org.apache.dubbo.interop.consumer;

import dubbo.interop.v1.Greeter;
import org.apache.dubbo.config.ReferenceConfig;
import org.apache.dubbo.interop.Flags;
import org.apache.dubbo.interop.Lines;
import org.apache.dubbo.interop.Registries;
import org.apache.dubbo.interop.UserService;

import java.io.InputStream;
import java.io.OutputStream;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * Calls one method of each contract in turn, of whichever provider the registry has, until the standard input ends. It prints a
 * line whenever it is answered by another provider or fails in another way, and the totals at the end.
 */
final class Discovery implements Runnable {
    private final String contract;
    private final Supplier<String> call;
    private final CountDownLatch over;
    private String event;
    private String by;
    private String error;
    private int calls;
    private int failed;

    private Discovery(String contract, Supplier<String> call, CountDownLatch over) {
        this.contract = contract;
        this.call = call;
        this.over = over;
    }

    static void run(Flags flags) {
        Registries.configure(flags, "interop-java-consumer").start();
        boolean counted = flags.has("load");
        ReferenceConfig<Greeter> greeting = reference(Greeter.class, "tri", counted);
        greeting.setProxy("nativestub");
        Greeter greeter = greeting.get();
        UserService user = reference(UserService.class, "dubbo", counted).get();

        CountDownLatch over = new CountDownLatch(1);
        Supplier<String> greet = () -> greeter.greet(GreeterCases.named("dubbo")).getGreeting();
        Supplier<String> hello = () -> user.hello("dubbo");
        List<Thread> callers;
        if (counted) {
            long every = Long.parseLong(flags.get("load"));
            callers = List.of(
                    new Thread(new Load("tri/greeter", Greeter.class, greet, every, over)),
                    new Thread(new Load("dubbo/user", UserService.class, hello, every, over)));
        } else {
            callers = List.of(
                    new Thread(new Discovery("tri/greeter", greet, over)),
                    new Thread(new Discovery("dubbo/user", hello, over)));
        }
        callers.forEach(Thread::start);
        try (InputStream in = System.in) {
            in.transferTo(OutputStream.nullOutputStream());
        } catch (java.io.IOException e) {
            System.err.println("standard input: " + e);
        }
        over.countDown();
        try {
            for (Thread caller : callers) caller.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Override public void run() {
        try {
            while (!over.await(CALL_EVERY_MILLIS, TimeUnit.MILLISECONDS)) callOnce();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        say("totals", null, null);
    }

    private void callOnce() {
        calls++;
        String now;
        String nowBy = null;
        String nowError = null;
        try {
            String answer = call.get();
            int from = answer.indexOf(" from ");
            now = "answered";
            nowBy = from < 0 ? "" : answer.substring(from + " from ".length());
        } catch (Throwable t) {
            failed++;
            now = "failed";
            nowError = String.valueOf(Fault.of(t).get("message"));
        }
        if (now.equals(event) && Objects.equals(nowBy, by) && Objects.equals(nowError, error)) return;
        event = now;
        by = nowBy;
        error = nowError;
        say(event, by, error);
    }

    private void say(String what, String who, String why) {
        Map<String, Object> line = new LinkedHashMap<>();
        line.put("event", what);
        line.put("contract", contract);
        if (who != null) line.put("by", who);
        if (why != null) line.put("error", why);
        line.put("calls", calls);
        line.put("failed", failed);
        Lines.print(line);
    }

    /** It retries as often as Dubbo does unless told otherwise, and not at all where calls are counted. */
    private static <T> ReferenceConfig<T> reference(Class<T> type, String protocol, boolean counted) {
        ReferenceConfig<T> reference = new ReferenceConfig<>();
        reference.setInterface(type);
        reference.setProtocol(protocol);
        reference.setTimeout(1000);
        reference.setCheck(false);
        if (counted) reference.setRetries(0);
        return reference;
    }

    private static final long CALL_EVERY_MILLIS = 100;
}
