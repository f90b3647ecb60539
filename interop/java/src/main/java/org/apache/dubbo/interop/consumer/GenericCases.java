package org.apache.dubbo.interop.consumer;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** Calls without the interface. */
final class GenericCases {
    private GenericCases() {}

    static void addTo(Map<String, Case> cases) {
        cases.put("generic_hello", invoke("hello", types(STRING), "x"));
        cases.put("generic_user", t -> nameAndAge(invoke("getUser", types(STRING), "A").run(t)));
        cases.put("generic_bean_argument", t -> {
            Map<String, Object> user = new HashMap<>(Map.of("id", "A", "name", "old", "age", 1, "gender", "MALE"));
            Map<?, ?> back = (Map<?, ?>) invoke("mix", types(STRING, "int", "org.apache.dubbo.interop.User"), "new", 9, user).run(t);
            return List.of(back.get("id"), back.get("name"), back.get("age"), back.get("gender"));
        });
        cases.put("generic_list", t -> {
            List<Object> users = new ArrayList<>();
            for (Object user : (List<?>) invoke("getUsers", types("java.util.List"), new ArrayList<>(List.of("A", "B"))).run(t)) {
                users.add(nameAndAge(user));
            }
            return users;
        });
        cases.put("generic_null", invoke("nothing", types(STRING), "A"));
        cases.put("generic_overload", t -> Arrays.asList(
                invoke("overload", types(STRING), "a").run(t),
                invoke("overload", types("int"), 3).run(t),
                invoke("overload", types(STRING, "int"), "a", 3).run(t)));
        cases.put("generic_no_types", t -> t.generic().$invoke("hello", null, new Object[] {"x"}));
        cases.put("generic_async", t -> t.generic().$invokeAsync("hello", types(STRING), new Object[] {"x"}).get(5, TimeUnit.SECONDS));
        cases.put("generic_error", invoke("fail", types(STRING), "boom"));
        cases.put("generic_error_checked", invoke("throwChecked", types(STRING), "checked"));
        cases.put("generic_unknown_method", invoke("noSuchMethod", types(STRING), "x"));
    }

    private static Case invoke(String method, String[] types, Object... arguments) {
        return t -> t.generic().$invoke(method, types, arguments);
    }

    private static String[] types(String... types) { return types; }

    private static Object nameAndAge(Object user) {
        Map<?, ?> fields = (Map<?, ?>) user;
        return Arrays.asList(fields.get("name"), fields.get("age"));
    }

    private static final String STRING = "java.lang.String";
}
