package org.apache.dubbo.interop;

import com.google.protobuf.Message;
import org.apache.dubbo.metadata.definition.builder.TypeBuilder;
import org.apache.dubbo.metadata.definition.model.TypeDefinition;

import java.lang.reflect.Type;
import java.util.Map;

/**
 * Describes messages by their names alone. With a registry Dubbo describes the types of its services, and follows a message that
 * has itself as a field until its stack overflows: the contract's {@code EchoMessage} is such a one.
 */
public final class MessageTypes implements TypeBuilder {
    @Override public boolean accept(Class<?> type) { return type != null && Message.class.isAssignableFrom(type); }

    @Override public TypeDefinition build(Type type, Class<?> raw, Map<String, TypeDefinition> known) {
        TypeDefinition definition = new TypeDefinition(raw.getCanonicalName());
        known.put(raw.getCanonicalName(), definition);
        return definition;
    }

    /** Before the framework's own. */
    @Override public int getPriority() { return MAX_PRIORITY; }
}
