package org.apache.dubbo.interop;

import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** {@code --name=value} arguments; a switch without {@code =} has an empty value. */
public final class Flags {
    private final Map<String, String> values = new HashMap<>();

    public Flags(String[] args, List<String> known) {
        for (String arg : args) {
            String[] parts = arg.split("=", 2);
            if (!parts[0].startsWith("--") || !known.contains(parts[0].substring(2))) {
                throw new IllegalArgumentException(arg + " is none of --" + String.join("=…, --", known));
            }
            values.put(parts[0].substring(2), parts.length == 2 ? parts[1] : "");
        }
    }

    public boolean has(String name) { return values.containsKey(name); }

    public String get(String name) {
        String value = values.get(name);
        if (value == null) throw new IllegalArgumentException("--" + name + "=… is missing");
        return value;
    }
}
