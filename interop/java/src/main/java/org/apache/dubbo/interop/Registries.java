package org.apache.dubbo.interop;

import org.apache.dubbo.config.ApplicationConfig;
import org.apache.dubbo.config.RegistryConfig;
import org.apache.dubbo.config.bootstrap.DubboBootstrap;

import java.util.List;
import java.util.Map;

/** The flags that tell a peer where providers and consumers meet. */
public final class Registries {
    private Registries() {}

    /** Names of the flags. */
    public static final List<String> FLAGS =
            List.of("registry", "registry-address", "registry-type", "metadata-type", "metadata-port", "application");

    /** Gives the application its name, and the registry that the flags have. */
    public static DubboBootstrap configure(Flags flags, String application) {
        ApplicationConfig config = new ApplicationConfig(flags.has("application") ? flags.get("application") : application);
        config.setQosEnable(false);
        DubboBootstrap bootstrap = DubboBootstrap.getInstance().application(config);
        if (!flags.has("registry")) return bootstrap.registry(new RegistryConfig("N/A"));
        // Dubbo and the clients of registries keep caches below the user's home, which outlive them. Each run has its own.
        System.setProperty("user.home", System.getProperty("user.dir"));
        String kind = one(flags, "registry", Map.of("nacos", "nacos", "zookeeper", "zookeeper"));
        config.setMetadataType(one(flags, "metadata-type", Map.of("local", "local", "remote", "remote")));
        if (flags.has("metadata-port")) config.setMetadataServicePort(Integer.parseInt(flags.get("metadata-port")));
        RegistryConfig registry = new RegistryConfig(kind + "://" + flags.get("registry-address"));
        registry.setRegisterMode(one(flags, "registry-type", Map.of("interface", "interface", "service", "instance", "all", "all")));
        return bootstrap.registry(registry);
    }

    private static String one(Flags flags, String name, Map<String, String> known) {
        String value = known.get(flags.get(name));
        if (value == null) throw new IllegalArgumentException("--" + name + "=" + flags.get(name) + " is none of " + known.keySet());
        return value;
    }
}
