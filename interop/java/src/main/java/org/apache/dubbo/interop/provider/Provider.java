package org.apache.dubbo.interop.provider;

import dubbo.interop.v1.Greeter;
import org.apache.dubbo.config.ProtocolConfig;
import org.apache.dubbo.config.ServiceConfig;
import org.apache.dubbo.config.bootstrap.DubboBootstrap;
import org.apache.dubbo.interop.Flags;
import org.apache.dubbo.interop.Lines;
import org.apache.dubbo.interop.Registries;
import org.apache.dubbo.interop.UserService;
import org.apache.dubbo.interop.UserStreamService;

import java.io.InputStream;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Serves the contract on {@code --tri=PORT} and {@code --dubbo=PORT}, and with a registry tells it so. */
public final class Provider {
    private Provider() {}

    public static void main(String[] args) {
        List<String> known = new ArrayList<>(List.of("tri", "dubbo", "name", "tag", "weight", "warmup", "until-stdin-ends"));
        known.addAll(Registries.FLAGS);
        known.addAll(Next.FLAGS);
        Flags flags = new Flags(args, known);
        if (flags.has("until-stdin-ends")) new Thread(Provider::guard).start();
        // Health is served over Triple only when asked for.
        System.setProperty("dubbo.tri.builtin.service.init", "true");
        // How long a provider waits for consumers that stay connected; ten seconds unless set.
        System.setProperty("dubbo.service.shutdown.wait", "4000");

        for (String name : new String[] {"tag", "weight"}) {
            if (flags.has(name)) System.setProperty("dubbo.provider." + name, flags.get(name));
        }
        // The flag has seconds, Dubbo Java milliseconds.
        if (flags.has("warmup")) System.setProperty("dubbo.provider.warmup", flags.get("warmup") + "000");

        DubboBootstrap bootstrap = Registries.configure(flags, "interop-java-provider");
        List<ProtocolConfig> protocols = new ArrayList<>();
        for (String name : new String[] {"tri", "dubbo"}) {
            if (flags.has(name)) protocols.add(new ProtocolConfig(name, Integer.parseInt(flags.get(name))));
        }
        bootstrap.protocols(protocols);
        if (flags.has("registry")) {
            offerToDiscover(bootstrap, protocols, " from " + flags.get("name"));
        } else {
            offerAll(bootstrap, protocols, Next.of(flags));
        }
        bootstrap.start();
        Lines.print(Map.of("event", "ready"));
        bootstrap.await();
    }

    /** The whole contract, plain and in a group, over all that is served. */
    private static void offerAll(DubboBootstrap bootstrap, List<ProtocolConfig> protocols, Next next) {
        String suffix = " from g1/1.0.0";
        bootstrap.service(service(UserService.class, new UserServiceImpl("", next.users()), protocols));
        bootstrap.service(grouped(service(UserService.class, new UserServiceImpl(suffix, null), protocols)));
        List<ProtocolConfig> triple = only("tri", protocols);
        if (triple.isEmpty()) return;
        bootstrap.service(service(UserStreamService.class, new UserStreamServiceImpl(), triple));
        bootstrap.service(service(Greeter.class, new GreeterImpl("", next.greeter()), triple));
        bootstrap.service(grouped(service(Greeter.class, new GreeterImpl(suffix, null), triple)));
    }

    /** Each service once, over one protocol, with answers that say who gave them. */
    private static void offerToDiscover(DubboBootstrap bootstrap, List<ProtocolConfig> protocols, String suffix) {
        bootstrap.service(service(Greeter.class, new GreeterImpl(suffix, null), only("tri", protocols)));
        bootstrap.service(service(UserService.class, new UserServiceImpl(suffix, null), only("dubbo", protocols)));
    }

    private static List<ProtocolConfig> only(String name, List<ProtocolConfig> protocols) {
        return protocols.stream().filter(protocol -> protocol.getName().equals(name)).toList();
    }

    private static <T> ServiceConfig<T> service(Class<T> type, T handler, List<ProtocolConfig> protocols) {
        ServiceConfig<T> service = new ServiceConfig<>();
        service.setInterface(type);
        service.setRef(handler);
        service.setProtocols(protocols);
        return service;
    }

    private static <T> ServiceConfig<T> grouped(ServiceConfig<T> service) {
        service.setGroup("g1");
        service.setVersion("1.0.0");
        return service;
    }

    /** Ends this process with its standard input, so that it does not outlive its runner. */
    private static void guard() {
        try (InputStream in = System.in) {
            in.transferTo(OutputStream.nullOutputStream());
        } catch (java.io.IOException e) {
            System.err.println("standard input: " + e);
        }
        Runtime.getRuntime().halt(1);
    }
}
