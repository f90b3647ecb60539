package org.apache.dubbo.interop.provider;

import org.apache.dubbo.common.stream.StreamObserver;
import org.apache.dubbo.interop.User;
import org.apache.dubbo.interop.UserStreamService;

final class UserStreamServiceImpl implements UserStreamService {
    @Override public void serverStream(String prefix, StreamObserver<User> out) {
        for (int i = 0; i < 3; i++) {
            out.onNext(User.sample(prefix + "-" + i));
            if (prefix.equals("fail")) {
                out.onError(new IllegalStateException("stream failed as asked"));
                return;
            }
        }
        out.onCompleted();
    }

    @Override public StreamObserver<User> biStream(StreamObserver<User> out) {
        return new StreamObserver<>() {
            @Override public void onNext(User user) {
                user.setName("re:" + user.getName());
                out.onNext(user);
            }

            @Override public void onError(Throwable t) { out.onError(t); }

            @Override public void onCompleted() { out.onCompleted(); }
        };
    }
}
