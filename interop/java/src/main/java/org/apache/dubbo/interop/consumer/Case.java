package org.apache.dubbo.interop.consumer;

/** The calls of a case. Answers with what they gave. */
interface Case {
    Object run(Target target) throws Throwable;

    /** A failure after something was given. */
    final class Ended extends Exception {
        final Object got;

        Ended(Object got, Throwable cause) {
            super(cause);
            this.got = got;
        }
    }
}
