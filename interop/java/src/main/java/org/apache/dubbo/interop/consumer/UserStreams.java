package org.apache.dubbo.interop.consumer;

import org.apache.dubbo.common.stream.StreamObserver;
import org.apache.dubbo.interop.User;
import org.apache.dubbo.interop.UserStreamService;

import java.util.Map;

/** Streams without protobuf. */
final class UserStreams {
    private UserStreams() {}

    static void addTo(Map<String, Case> cases) {
        cases.put("user_server_stream", server("p"));
        cases.put("user_server_stream_fail", server("fail"));
        cases.put("user_bidi", t -> {
            Collected<User> users = names();
            StreamObserver<User> requests = t.refer(UserStreamService.class, usual -> usual).biStream(users);
            for (String id : new String[] {"1", "2", "3"}) requests.onNext(User.sample(id));
            requests.onCompleted();
            return users.all();
        });
    }

    private static Case server(String prefix) {
        return t -> {
            Collected<User> users = names();
            t.refer(UserStreamService.class, usual -> usual).serverStream(prefix, users);
            return users.all();
        };
    }

    private static Collected<User> names() { return new Collected<>(User::getName); }
}
