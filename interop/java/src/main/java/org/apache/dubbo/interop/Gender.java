package org.apache.dubbo.interop;

/** An enum of the contract. */
public enum Gender {
    UNKNOWN,
    MALE,
    FEMALE
}
