package org.apache.dubbo.interop.consumer;

import org.apache.dubbo.config.MethodConfig;
import org.apache.dubbo.config.ReferenceConfig;
import org.apache.dubbo.interop.Flags;
import org.apache.dubbo.interop.Registries;
import org.apache.dubbo.interop.UserService;

import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The references, made when they are first used. */
final class References {
    private final Flags flags;
    private final Map<Wanted, Object> made = new HashMap<>();

    /** What a reference refers to, and how it differs from the usual one. */
    record Wanted(Class<?> type, String protocol, String group, String version, int timeout, String generic, Map<String, String> parameters) {
        static Wanted plain(Class<?> type, String protocol) { return new Wanted(type, protocol, "", "", USUAL, "", Map.of()); }

        Wanted keyed(String group, String version) { return new Wanted(type, protocol, group, version, timeout, generic, parameters); }

        Wanted within(int millis) { return new Wanted(type, protocol, group, version, millis, generic, parameters); }

        Wanted generic(String mode) { return new Wanted(type, protocol, group, version, timeout, mode, parameters); }

        Wanted with(Map<String, String> parameters) {
            return new Wanted(type, protocol, group, version, timeout, generic, parameters);
        }
    }

    References(Flags flags) {
        this.flags = flags;
        Registries.configure(flags, "interop-java-consumer").start();
    }

    synchronized Object get(Wanted wanted) { return made.computeIfAbsent(wanted, this::make); }

    private Object make(Wanted wanted) {
        ReferenceConfig<Object> reference = new ReferenceConfig<>();
        if (wanted.generic().isEmpty()) {
            reference.setInterface(wanted.type());
        } else {
            reference.setInterface(wanted.type().getName());
            reference.setGeneric(wanted.generic());
        }
        reference.setUrl(wanted.protocol() + "://" + flags.get(wanted.protocol()));
        reference.setProtocol(wanted.protocol());
        reference.setTimeout(wanted.timeout());
        reference.setRetries(0);
        reference.setCheck(false);
        if (!wanted.group().isEmpty()) reference.setGroup(wanted.group());
        if (!wanted.version().isEmpty()) reference.setVersion(wanted.version());
        // How soon a provider is looked for that went away, too: a minute unless set.
        Map<String, String> parameters = new HashMap<>(Map.of(
                "heartbeat", "1000", "dubbo.application.least-reconnect-duration", "1000"));
        parameters.putAll(wanted.parameters());
        reference.setParameters(parameters);
        if (wanted.type() == UserService.class && wanted.generic().isEmpty()) {
            MethodConfig oneway = new MethodConfig();
            oneway.setName("oneway");
            oneway.setReturn(false);
            reference.setMethods(List.of(oneway));
        } else if (wanted.type().getName().contains(".v1.")) {
            reference.setProxy("nativestub");
        }
        return reference.get();
    }

    private static final int USUAL = 3000;
}
