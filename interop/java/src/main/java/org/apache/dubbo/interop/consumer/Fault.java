package org.apache.dubbo.interop.consumer;

import org.apache.dubbo.rpc.RpcException;
import org.apache.dubbo.rpc.StatusRpcException;
import org.apache.dubbo.rpc.TriRpcStatus;
import org.apache.dubbo.rpc.service.GenericException;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;

/** An error as a report has it: a failure of the framework has a code, an exception of the provider a class. */
final class Fault {
    private Fault() {}

    static Map<String, Object> of(Throwable thrown) {
        Throwable t = innermost(thrown);
        Map<String, Object> fault = new LinkedHashMap<>();
        if (t instanceof StatusRpcException status) {
            fault.put("code", status.getStatus().code.code);
            fault.put("message", text(status.getStatus().description));
        } else if (t instanceof RpcException rpc) {
            fault.put("code", TriRpcStatus.dubboCodeToTriCode(rpc.getCode()).code);
            fault.put("message", text(rpc.getMessage()));
        } else if (t instanceof GenericException generic) {
            fault.put("class", generic.getExceptionClass());
            fault.put("message", text(generic.getExceptionMessage()));
        } else {
            fault.put("class", t.getClass().getName());
            fault.put("message", text(t.getMessage()));
            if (t.getCause() != null && t.getCause() != t) fault.put("cause", of(t.getCause()));
        }
        return fault;
    }

    /** What Dubbo and futures have wrapped. */
    private static Throwable innermost(Throwable thrown) {
        Throwable t = thrown;
        for (Throwable next = thrown; next != null; next = next.getCause()) {
            boolean wrapper = next instanceof ExecutionException || next instanceof CompletionException;
            if (next instanceof RpcException) t = next;
            else if (!wrapper) return t instanceof RpcException ? t : next;
        }
        return t;
    }

    private static String text(String message) { return message == null ? "" : message; }
}
