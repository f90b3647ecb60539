package org.apache.dubbo.interop.consumer;

import org.apache.dubbo.interop.Bag;
import org.apache.dubbo.interop.Child;
import org.apache.dubbo.interop.Address;
import org.apache.dubbo.interop.Node;
import org.apache.dubbo.interop.Result;
import org.apache.dubbo.interop.User;

import java.lang.reflect.Array;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Date;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** A text that two values have in common when they are of the same type and equal, all the way down. */
final class Text {
    private Text() {}

    static String of(Object v) {
        if (v == null) return "null";
        String type = v.getClass().getSimpleName();
        if (v instanceof String s) return s.length() > LONG ? "String of " + s.length() + " #" + s.hashCode() : '"' + s + '"';
        if (v instanceof Date date) return "Date " + date.getTime();
        if (v instanceof User user) return type + " " + ofUser(user);
        if (v instanceof Address a) return type + " " + a.getCity() + " " + a.getZip();
        if (v instanceof Bag b) return type + " " + of(b.getItems()) + of(b.getMap()) + of(b.getAddress()) + of(b.getSet());
        if (v instanceof Child c) return type + " " + c.getId() + " " + c.getBaseName() + " " + c.getName() + " " + c.getExtra();
        if (v instanceof Result<?> r) return type + " " + r.getCode() + " " + r.getMessage() + " " + of(r.getData());
        if (v instanceof Node node) return type + " " + ofNode(node);
        if (v.getClass().isArray()) return type + ofArray(v);
        if (v instanceof Collection<?> collection) {
            List<String> items = new ArrayList<>();
            for (Object item : collection) items.add(of(item));
            if (v instanceof Set) Collections.sort(items);
            return type + items;
        }
        if (v instanceof Map<?, ?> map) {
            List<String> entries = new ArrayList<>();
            map.forEach((key, value) -> entries.add(of(key) + "=" + of(value)));
            Collections.sort(entries);
            return type + entries;
        }
        return type + " " + v;
    }

    private static String ofArray(Object array) {
        int length = Array.getLength(array);
        List<String> items = new ArrayList<>();
        for (int i = 0; i < length; i++) items.add(of(Array.get(array, i)));
        return length > LONG ? " of " + length + " #" + items.hashCode() : items.toString();
    }

    private static String ofUser(User u) {
        String friend = u.getFriend() == u ? "itself" : of(u.getFriend());
        return u.getId() + " " + u.getName() + " " + u.getAge() + " " + u.getScore() + " " + u.getRate() + " " + u.isActive()
                + " " + of(u.getBirth()) + " " + u.getGender() + " " + u.getTags() + " " + of(u.getAttrs()) + " " + friend
                + " " + of(u.getPhoto());
    }

    /** A graph: parents by name, and whether they are the same object as the one above. */
    private static String ofNode(Node node) {
        StringBuilder text = new StringBuilder(node.getName());
        if (node.getChildren() != null) {
            for (Node child : node.getChildren()) text.append(" (").append(child.getParent() == node).append(" ").append(ofNode(child)).append(")");
        }
        return text.toString();
    }

    private static final int LONG = 64;
}
