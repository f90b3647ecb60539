package org.apache.dubbo.interop.consumer;

import org.apache.dubbo.common.utils.JsonUtils;
import org.apache.dubbo.config.ReferenceConfig;
import org.apache.dubbo.interop.Flags;
import org.apache.dubbo.interop.Lines;
import org.apache.dubbo.interop.Registries;
import org.apache.dubbo.metadata.definition.model.FullServiceDefinition;
import org.apache.dubbo.metadata.definition.model.MethodDefinition;
import org.apache.dubbo.metadata.definition.model.TypeDefinition;
import org.apache.dubbo.metadata.report.MetadataReport;
import org.apache.dubbo.metadata.report.MetadataReportInstance;
import org.apache.dubbo.metadata.report.identifier.MetadataIdentifier;
import org.apache.dubbo.rpc.model.ApplicationModel;
import org.apache.dubbo.rpc.service.GenericService;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Calls the Java interface of {@code --definition=APPLICATION} as consoles do: it knows the names of the interface and of two
 * methods, and all the rest from the definition that the provider has stored in the metadata report.
 */
final class Definitions {
    private final FullServiceDefinition definition;
    private final GenericService service;

    private Definitions(FullServiceDefinition definition, GenericService service) {
        this.definition = definition;
        this.service = service;
    }

    /** Prints one line as of a case. */
    static void run(Flags flags) {
        Map<String, Object> line = new LinkedHashMap<>();
        line.put("case", "definition");
        line.put("got", null);
        long start = System.nanoTime();
        try {
            Registries.configure(flags, "interop-java-consumer").start();
            FullServiceDefinition definition = await(() -> read(flags.get("definition")));
            GenericService service = reference();
            line.put("got", await(() -> new Definitions(definition, service).call()));
        } catch (Throwable t) {
            line.put("error", Fault.of(t));
        }
        line.put("millis", (System.nanoTime() - start) / 1_000_000);
        Lines.print(line);
    }

    private static FullServiceDefinition read(String application) {
        MetadataReportInstance reports = ApplicationModel.defaultModel().getBeanFactory().getBean(MetadataReportInstance.class);
        MetadataReport report = reports.getMetadataReports(true).values().iterator().next();
        String stored = report.getServiceDefinition(new MetadataIdentifier(INTERFACE, "", "", "provider", application));
        if (stored == null || stored.isEmpty()) throw new IllegalStateException("there is no definition of " + application);
        return JsonUtils.toJavaObject(stored, FullServiceDefinition.class);
    }

    private static GenericService reference() {
        ReferenceConfig<GenericService> reference = new ReferenceConfig<>();
        reference.setInterface(INTERFACE);
        reference.setGeneric("true");
        reference.setProtocol("dubbo");
        reference.setTimeout(1000);
        reference.setCheck(false);
        return reference.get();
    }

    private Map<String, Object> call() {
        Map<String, Object> got = new LinkedHashMap<>();
        got.put("interface", definition.getCanonicalName());
        got.put("side", definition.getParameters().get("side"));
        for (String name : METHODS) {
            MethodDefinition method = method(name);
            String[] types = method.getParameterTypes();
            Object[] arguments = new Object[types.length];
            for (int i = 0; i < types.length; i++) arguments[i] = value(types[i]);
            got.put(name, plain(service.$invoke(name, types, arguments)));
        }
        return got;
    }

    private MethodDefinition method(String name) {
        return definition.getMethods().stream().filter(m -> m.getName().equals(name)).findFirst()
                .orElseThrow(() -> new IllegalStateException("the definition has no method " + name));
    }

    private TypeDefinition type(String name) {
        return definition.getTypes().stream().filter(t -> t.getType().equals(name)).findFirst()
                .orElseThrow(() -> new IllegalStateException("the definition has no type " + name));
    }

    /** A value of a type, as far as consoles have fields for it: null for all others. */
    private Object value(String name) {
        switch (name) {
            case "java.lang.String": return "text";
            case "int": return 9;
            case "long": return 10L;
            case "double": return 1.5;
            case "boolean": return true;
            default: break;
        }
        TypeDefinition type = type(name);
        if (!type.getEnums().isEmpty()) return type.getEnums().get(1);
        if (name.startsWith("java.util.List<")) return new ArrayList<>(List.of(value(type.getItems().get(0))));
        if (type.getProperties().isEmpty() || made.contains(name)) return null;
        made.add(name);
        Map<String, Object> fields = new LinkedHashMap<>();
        type.getProperties().forEach((field, of) -> {
            Object value = value(of);
            if (value != null) fields.put(field, value);
        });
        return fields;
    }

    /** What was given, without what every provider makes up. */
    private static Object plain(Object answer) {
        if (answer instanceof List<?> list) return list.stream().map(Definitions::plain).toList();
        if (!(answer instanceof Map<?, ?> fields)) return answer;
        Map<String, Object> kept = new LinkedHashMap<>();
        for (String name : List.of("id", "name", "age", "score", "rate", "active", "gender")) kept.put(name, fields.get(name));
        return kept;
    }

    private interface Step<T> { T take(); }

    /** A provider stores its definition, and adds itself to the mapping, after it has said that it is ready. */
    private static <T> T await(Step<T> step) throws InterruptedException {
        long last = System.nanoTime() + PATIENCE_NANOS;
        while (true) {
            try {
                return step.take();
            } catch (RuntimeException e) {
                if (System.nanoTime() - last > 0) throw e;
                Thread.sleep(100);
            }
        }
    }

    /** Types that hold themselves end here. */
    private final List<String> made = new ArrayList<>();

    private static final String INTERFACE = "org.apache.dubbo.interop.UserService";
    private static final List<String> METHODS = List.of("mix", "getUsers");
    private static final long PATIENCE_NANOS = 30_000_000_000L;
}
