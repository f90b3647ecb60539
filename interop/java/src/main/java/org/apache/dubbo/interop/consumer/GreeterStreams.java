package org.apache.dubbo.interop.consumer;

import dubbo.interop.v1.GreetRequest;
import dubbo.interop.v1.GreetResponse;
import io.grpc.health.v1.Health;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse;
import org.apache.dubbo.common.stream.StreamObserver;
import org.apache.dubbo.rpc.protocol.tri.observer.ClientCallToObserverAdapter;

import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/** Streams of the protobuf service, and of the health service. */
final class GreeterStreams {
    private GreeterStreams() {}

    static void addTo(Map<String, Case> cases) {
        cases.put("server_stream", server(counted("dubbo", 3).build()));
        cases.put("server_stream_none", server(counted("dubbo", 0).build()));
        cases.put("server_stream_fail_first", server(counted("dubbo", 5).setFailAfter(2).setFailCode(9).build()));
        cases.put("server_stream_many", lastOf(server(counted("dubbo", 2000).build())));
        cases.put("client_stream", client(0, "a", "b", "c"));
        cases.put("client_stream_none", client(0));
        cases.put("client_stream_fail", client(7, "a", "fail"));
        cases.put("client_stream_many", client(0, many()));
        cases.put("bidi", bidi(0, "a", "b", "c"));
        cases.put("bidi_none", bidi(0));
        cases.put("bidi_fail", bidi(7, "a", "fail"));
        cases.put("bidi_many", lastOf(bidi(0, many())));

        cases.put("cancel_stream", t -> {
            Collected<GreetResponse> items = greetings();
            t.greeter().greetServerStream(counted("x", 100).setDelayMillis(50).build(), items);
            items.await(2);
            items.cancel(new IllegalStateException("cancelled by its caller"));
            return 2;
        });
        cases.put("cancel_client_stream", t -> {
            StreamObserver<GreetRequest> requests = t.greeter().greetClientStream(greetings());
            requests.onNext(GreeterCases.named("a"));
            Thread.sleep(200);
            cancel(requests);
            return "cancelled";
        });
        cases.put("cancel_bidi", t -> {
            Collected<GreetResponse> items = greetings();
            StreamObserver<GreetRequest> requests = t.greeter().greetBidi(items);
            requests.onNext(GreeterCases.named("a"));
            items.await(1);
            cancel(requests);
            return List.of("hello a");
        });

        cases.put("health_check", health(""));
        cases.put("health_check_service", health(GREETER));
        cases.put("health_check_group", health("g1/" + GREETER + ":1.0.0"));
        cases.put("health_check_unknown", health("no.such.Service"));
        cases.put("health_watch", watchOnce(GREETER));
        cases.put("health_watch_unknown", watchOnce("no.such.Service"));
    }

    private static Collected<GreetResponse> greetings() { return new Collected<>(GreetResponse::getGreeting); }

    private static GreetRequest.Builder counted(String name, int count) {
        return GreetRequest.newBuilder().setName(name).setCount(count);
    }

    private static String[] many() { return IntStream.range(0, 500).mapToObj(String::valueOf).toArray(String[]::new); }

    private static Case server(GreetRequest request) {
        return t -> {
            Collected<GreetResponse> items = greetings();
            t.greeter().greetServerStream(request, items);
            return items.all();
        };
    }

    private static Case client(int code, String... names) {
        return t -> {
            Collected<GreetResponse> answers = new Collected<>(r -> Map.of("greeting", r.getGreeting(), "seq", r.getSeq()));
            StreamObserver<GreetRequest> requests = t.greeter().greetClientStream(answers);
            for (String name : names) requests.onNext(request(name, code));
            if (code == 0) requests.onCompleted();
            try {
                return answers.all().get(0);
            } catch (Case.Ended e) {
                throw e.getCause();
            }
        };
    }

    /** Sends the next name when the last one is answered. */
    private static Case bidi(int code, String... names) {
        return t -> {
            Collected<GreetResponse> items = greetings();
            StreamObserver<GreetRequest> requests = t.greeter().greetBidi(items);
            for (int i = 0; i < names.length; i++) {
                requests.onNext(request(names[i], code));
                if (!items.await(i + 1)) return items.all();
            }
            requests.onCompleted();
            return items.all();
        };
    }

    private static GreetRequest request(String name, int code) {
        return GreetRequest.newBuilder().setName(name).setFailCode(code).build();
    }

    private static Case lastOf(Case kase) {
        return t -> {
            List<?> items = (List<?>) kase.run(t);
            return Map.of("count", items.size(), "last", items.get(items.size() - 1));
        };
    }

    private static void cancel(StreamObserver<GreetRequest> requests) {
        ((ClientCallToObserverAdapter<GreetRequest>) requests).cancel(new IllegalStateException("cancelled by its caller"));
    }

    private static Case health(String service) {
        return t -> t.refer(Health.class, usual -> usual).check(asked(service)).getStatus().name();
    }

    private static Case watchOnce(String service) {
        return t -> {
            Collected<HealthCheckResponse> statuses = watch(t, service);
            if (!statuses.await(1)) return statuses.all();
            String first = (String) statuses.soFar().get(0);
            statuses.cancel(new IllegalStateException("seen enough"));
            return first;
        };
    }

    static Collected<HealthCheckResponse> watch(Target t, String service) {
        Collected<HealthCheckResponse> statuses = new Collected<>(r -> r.getStatus().name());
        t.refer(Health.class, usual -> usual).watch(asked(service), statuses);
        return statuses;
    }

    private static HealthCheckRequest asked(String service) { return HealthCheckRequest.newBuilder().setService(service).build(); }

    static final String GREETER = "dubbo.interop.v1.Greeter";
}
