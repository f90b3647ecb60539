package org.apache.dubbo.interop.consumer;

import org.apache.dubbo.interop.Flags;
import org.apache.dubbo.interop.Lines;
import org.apache.dubbo.interop.Registries;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Calls the contract at {@code --tri=HOST:PORT} and {@code --dubbo=HOST:PORT}, and prints a line per case of
 * {@code --cases=PROTOCOL/NAME,…}. It reports and does not judge: what each case has to give is known to the runner.
 * With a registry it looks for the provider there instead: {@link Discovery}, {@link Definitions}.
 */
public final class Consumer {
    private Consumer() {}

    public static void main(String[] args) {
        List<String> known = new ArrayList<>(List.of("tri", "dubbo", "cases", "definition"));
        known.addAll(Registries.FLAGS);
        Flags flags = new Flags(args, known);
        if (flags.has("registry")) {
            if (flags.has("definition")) Definitions.run(flags);
            else Discovery.run(flags);
            System.exit(0);
        }
        Map<String, Case> cases = new HashMap<>();
        GreeterCases.addTo(cases);
        GreeterStreams.addTo(cases);
        UserCases.addTo(cases);
        UserFailures.addTo(cases);
        UserStreams.addTo(cases);
        EchoCases.addTo(cases);
        GenericCases.addTo(cases);
        LifeCases.addTo(cases);
        References references = new References(flags);
        for (String label : flags.get("cases").split(",")) {
            Target target = new Target(references, label);
            Case kase = cases.get(target.name());
            if (kase == null) throw new IllegalArgumentException("no case named " + target.name());
            Lines.print(report(kase, target));
        }
        // Connections would keep the process alive.
        System.exit(0);
    }

    private static Map<String, Object> report(Case kase, Target target) {
        Map<String, Object> line = new LinkedHashMap<>();
        line.put("case", target.label());
        line.put("got", null);
        long start = System.nanoTime();
        try {
            line.put("got", kase.run(target));
        } catch (Case.Ended e) {
            line.put("got", e.got);
            line.put("error", Fault.of(e.getCause()));
        } catch (Throwable t) {
            line.put("error", Fault.of(t));
        }
        line.put("millis", (System.nanoTime() - start) / 1_000_000);
        return line;
    }
}
