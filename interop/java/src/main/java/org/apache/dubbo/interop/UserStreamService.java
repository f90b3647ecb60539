package org.apache.dubbo.interop;

import org.apache.dubbo.common.stream.StreamObserver;

/** Streams without protobuf, over Triple only. */
public interface UserStreamService {
    /**
     * Three users with the ids PREFIX-0 to PREFIX-2. When the prefix is "fail" the stream ends after the first one with an
     * IllegalStateException, "stream failed as asked".
     */
    void serverStream(String prefix, StreamObserver<User> out);

    /** Each user comes back with "re:" before its name. */
    StreamObserver<User> biStream(StreamObserver<User> out);
}
