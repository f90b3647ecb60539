package org.apache.dubbo.interop.consumer;

import io.grpc.health.v1.HealthCheckResponse;
import org.apache.dubbo.interop.UserService;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Predicate;

/** What a consumer sees of connections, and of a provider that stops. */
final class LifeCases {
    private LifeCases() {}

    static void addTo(Map<String, Case> cases) {
        cases.put("heartbeat", t -> {
            UserService user = t.refer(UserService.class, usual -> usual.with(Map.of("connections", "1")));
            String before = user.remote();
            // Three heartbeats that nobody answers would end the connection.
            Thread.sleep(4500);
            return user.remote().equals(before) ? "the same connection" : "another connection";
        });
        cases.put("shutdown_inflight", t -> t.protocol().equals("tri") ? inFlightOnTriple(t) : inFlight(t));
        cases.put("shutdown_after", until(error -> error != null));
        cases.put("shutdown_reconnect", until(error -> error == null));
    }

    /** Has a call under way when the provider is told to stop, and makes one more call while it stops. */
    private static Object inFlight(Target t) throws Throwable {
        // Else the first call would come late: what it needs is not there yet.
        UserCases.hello("early").run(t);
        patient(t).hello("early");
        CompletableFuture<Object> slept = start(t, target -> patient(target).sleep(2000));
        Thread.sleep(1000);
        Map<String, Object> got = new LinkedHashMap<>();
        got.put("late", outcome(t, UserCases.hello("late")));
        got.put("slept", slept.get());
        return got;
    }

    /** The same, and watches the health of the service. */
    private static Object inFlightOnTriple(Target t) throws Throwable {
        Collected<HealthCheckResponse> statuses = GreeterStreams.watch(t, GreeterStreams.GREETER);
        statuses.await(1);
        CompletableFuture<Object> slept = start(t, GreeterCases.sleep(usual -> usual.within(Target.PATIENT), 2000));
        Map<String, Object> got = new LinkedHashMap<>();
        statuses.await(2);
        // The notice may arrive before the provider has stopped to take calls.
        Thread.sleep(300);
        got.put("late", outcome(t, GreeterCases.greet("late")));
        got.put("slept", slept.get());
        got.put("before", statuses.soFar().get(0));
        got.put("during", statuses.soFar().size() > 1 ? statuses.soFar().get(1) : null);
        return got;
    }

    private static UserService patient(Target t) {
        return t.refer(UserService.class, usual -> usual.within(Target.PATIENT));
    }

    private static CompletableFuture<Object> start(Target t, Case kase) {
        return CompletableFuture.supplyAsync(() -> {
            try {
                return kase.run(t);
            } catch (Throwable e) {
                return Fault.of(e);
            }
        });
    }

    private static Object outcome(Target t, Case kase) {
        try {
            return kase.run(t);
        } catch (Throwable e) {
            return Fault.of(e);
        }
    }

    /** Calls until the outcome is as wanted, twenty seconds at most. */
    private static Case until(Predicate<Throwable> done) {
        return t -> {
            Case call = t.protocol().equals("tri") ? GreeterCases.greet("dubbo") : UserCases.hello("dubbo");
            long start = System.nanoTime();
            while (true) {
                Object got = null;
                Throwable error = null;
                try {
                    got = call.run(t);
                } catch (Throwable e) {
                    error = e;
                }
                if (done.test(error) || System.nanoTime() - start > LIMIT) {
                    if (error != null) throw error;
                    return got;
                }
                Thread.sleep(50);
            }
        };
    }

    private static final long LIMIT = 20_000_000_000L;
}
