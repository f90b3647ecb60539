package org.apache.dubbo.interop.consumer;

import java.util.Map;

/** Calls of the service without protobuf that end with an exception. */
final class UserFailures {
    private UserFailures() {}

    static void addTo(Map<String, Case> cases) {
        cases.put("error_plain", t -> t.user().fail("boom"));
        cases.put("error_text", t -> t.user().fail("50% + é\n\t中 end "));
        cases.put("error_status", t -> t.user().failStatus(3, "bad name"));
        cases.put("error_checked", t -> t.user().throwChecked("checked"));
        cases.put("error_runtime", t -> t.user().throwRuntime("runtime"));
        cases.put("error_cause", t -> t.user().throwUndeclared("outer"));
        cases.put("error_null_message", t -> t.user().throwNullMessage());
    }
}
