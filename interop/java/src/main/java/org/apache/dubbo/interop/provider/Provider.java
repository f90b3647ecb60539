package org.apache.dubbo.interop.provider;

import org.apache.dubbo.config.ApplicationConfig;
import org.apache.dubbo.config.ProtocolConfig;
import org.apache.dubbo.config.RegistryConfig;
import org.apache.dubbo.config.ServiceConfig;
import org.apache.dubbo.config.bootstrap.DubboBootstrap;
import org.apache.dubbo.interop.Flags;
import org.apache.dubbo.interop.Lines;
import org.apache.dubbo.interop.UserService;
import org.apache.dubbo.interop.UserStreamService;
import org.apache.dubbo.interop.v1.Greeter;

import java.io.InputStream;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Serves the contract on {@code --tri=PORT} and {@code --dubbo=PORT}. */
public final class Provider {
    private Provider() {}

    public static void main(String[] args) {
        Flags flags = new Flags(args, "tri", "dubbo", "until-stdin-ends");
        if (flags.has("until-stdin-ends")) new Thread(Provider::guard).start();
        // Health is served over Triple only when asked for.
        System.setProperty("dubbo.tri.builtin.service.init", "true");
        // How long a provider waits for consumers that stay connected; ten seconds unless set.
        System.setProperty("dubbo.service.shutdown.wait", "4000");

        ApplicationConfig application = new ApplicationConfig("interop-java-provider");
        application.setQosEnable(false);
        DubboBootstrap bootstrap = DubboBootstrap.getInstance()
                .application(application)
                .registry(new RegistryConfig("N/A"));
        List<ProtocolConfig> protocols = new ArrayList<>();
        for (String name : new String[] {"tri", "dubbo"}) {
            if (flags.has(name)) protocols.add(new ProtocolConfig(name, Integer.parseInt(flags.get(name))));
        }
        bootstrap.protocols(protocols);
        bootstrap.service(service(UserService.class, new UserServiceImpl(""), protocols));
        bootstrap.service(grouped(service(UserService.class, new UserServiceImpl(" from g1/1.0.0"), protocols)));
        List<ProtocolConfig> triple = protocols.stream().filter(p -> p.getName().equals("tri")).toList();
        if (!triple.isEmpty()) {
            bootstrap.service(service(UserStreamService.class, new UserStreamServiceImpl(), triple));
            bootstrap.service(service(Greeter.class, new GreeterImpl(""), triple));
            bootstrap.service(grouped(service(Greeter.class, new GreeterImpl(" from g1/1.0.0"), triple)));
        }
        bootstrap.start();
        Lines.print(Map.of("event", "ready"));
        bootstrap.await();
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
