package org.apache.dubbo.interop.provider;

import dubbo.interop.v1.Greeter;
import org.apache.dubbo.config.ReferenceConfig;
import org.apache.dubbo.interop.Flags;
import org.apache.dubbo.interop.UserService;

import java.util.List;
import java.util.function.Supplier;

/** The provider that is asked in turn for the attachments that come with a call; null where there is none. */
record Next(Supplier<Greeter> greeter, Supplier<UserService> users) {
    static final List<String> FLAGS = List.of("next-tri", "next-dubbo");

    /** References to the addresses that the flags have. */
    static Next of(Flags flags) {
        return new Next(refer(flags, "tri", Greeter.class), refer(flags, "dubbo", UserService.class));
    }

    /** Made when it is first used: to make one starts Dubbo, and services that are offered later are not served. */
    private static <T> Supplier<T> refer(Flags flags, String protocol, Class<T> type) {
        if (!flags.has("next-" + protocol)) return null;
        ReferenceConfig<T> reference = new ReferenceConfig<>();
        reference.setInterface(type);
        reference.setUrl(protocol + "://" + flags.get("next-" + protocol));
        reference.setProtocol(protocol);
        reference.setRetries(0);
        reference.setCheck(false);
        if (type == Greeter.class) reference.setProxy("nativestub");
        return reference::get;
    }
}
