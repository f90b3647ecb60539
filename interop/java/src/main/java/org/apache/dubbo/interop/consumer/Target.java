package org.apache.dubbo.interop.consumer;

import dubbo.interop.v1.Greeter;
import org.apache.dubbo.interop.UserService;
import org.apache.dubbo.interop.consumer.References.Wanted;
import org.apache.dubbo.rpc.RpcContext;
import org.apache.dubbo.rpc.service.GenericService;

import java.util.function.UnaryOperator;

/** The provider, as one case sees it. */
final class Target {
    private final References references;
    private final String label;

    Target(References references, String label) {
        this.references = references;
        this.label = label;
    }

    String label() { return label; }

    String protocol() { return label.substring(0, label.indexOf('/')); }

    String name() { return label.substring(label.indexOf('/') + 1); }

    Greeter greeter() { return refer(Greeter.class, usual -> usual); }

    UserService user() { return refer(UserService.class, usual -> usual); }

    GenericService generic() {
        return (GenericService) labelled(Wanted.plain(UserService.class, protocol()).generic("true"));
    }

    /** A reference for one call: what Dubbo attaches to a call it forgets with it, the name of the case too. */
    <T> T refer(Class<T> type, UnaryOperator<Wanted> change) {
        return type.cast(labelled(change.apply(Wanted.plain(type, protocol()))));
    }

    private Object labelled(Wanted wanted) {
        Object reference = references.get(wanted);
        RpcContext.getClientAttachment().setAttachment("interop-case", label);
        return reference;
    }

    static final int HASTY = 300;
    static final int PATIENT = 10_000;
}
