package org.apache.dubbo.interop.consumer;

import org.apache.dubbo.common.constants.CommonConstants;
import org.apache.dubbo.common.extension.Activate;
import org.apache.dubbo.registry.client.InstanceAddressURL;
import org.apache.dubbo.rpc.Filter;
import org.apache.dubbo.rpc.Invocation;
import org.apache.dubbo.rpc.Invoker;
import org.apache.dubbo.rpc.Result;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;

/** Counts the calls by how their provider was found: the addresses of applications have a class of their own. */
@Activate(group = CommonConstants.CONSUMER)
public final class Ways implements Filter {
    /** How many calls of a service went by the application and by the interface. */
    static Map<String, Long> of(String service) {
        return Map.of("application", count("application", service).sum(), "interface", count("interface", service).sum());
    }

    @Override public Result invoke(Invoker<?> invoker, Invocation invocation) {
        String way = invoker.getUrl() instanceof InstanceAddressURL ? "application" : "interface";
        count(way, invoker.getInterface().getName()).increment();
        return invoker.invoke(invocation);
    }

    private static LongAdder count(String way, String service) {
        return COUNTS.computeIfAbsent(way + ' ' + service, key -> new LongAdder());
    }

    private static final Map<String, LongAdder> COUNTS = new ConcurrentHashMap<>();
}
