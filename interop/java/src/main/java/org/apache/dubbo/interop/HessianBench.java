package org.apache.dubbo.interop;

import com.alibaba.com.caucho.hessian.io.Hessian2Input;
import com.alibaba.com.caucho.hessian.io.Hessian2Output;
import com.alibaba.com.caucho.hessian.io.SerializerFactory;

import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.Serializable;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;

/** Times hessian-lite as it is told to on its standard input; {@code xtask/src/bench/hessian2.rs} has the commands. */
public final class HessianBench {
    private HessianBench() {}

    public static class Pojo implements Serializable {
        private static final long serialVersionUID = 1L;
        long id;
        int age;
        double score;
        boolean active;
        String name;
        String email;

        public Pojo() {}

        Pojo(int i) {
            id = 1_000_000 + i;
            age = 18 + i % 60;
            score = i / 8.0;
            active = i % 2 == 0;
            name = "user-" + i;
            email = name + "@example.com";
        }
    }

    public static class Address implements Serializable {
        private static final long serialVersionUID = 1L;
        int zip;
        String street;
        String city;

        public Address() {}

        Address(int zip, String street, String city) {
            this.zip = zip;
            this.street = street;
            this.city = city;
        }
    }

    public static class Person implements Serializable {
        private static final long serialVersionUID = 1L;
        int age;
        String name;
        Address address;

        public Person() {}

        Person(int age, String name, Address address) {
            this.age = age;
            this.name = name;
            this.address = address;
        }
    }

    public static class Order implements Serializable {
        private static final long serialVersionUID = 1L;
        long id;
        double amount;
        boolean paid;
        String note;
        Person buyer;
        Person seller;
        List<Pojo> lines;

        public static Order sample() {
            Order order = new Order();
            order.id = 4_200_000_000L;
            order.amount = 1234.56;
            order.paid = true;
            order.note = "leave it at the door, please";
            order.buyer = new Person(36, "Ada Lovelace", new Address(10115, "Invalidenstr. 1", "Berlin"));
            order.seller = new Person(85, "Grace Hopper", new Address(22201, "Wilson Blvd. 1", "Arlington"));
            order.lines = pojos(3);
            return order;
        }
    }

    private static List<Pojo> pojos(int count) {
        List<Pojo> pojos = new ArrayList<>();
        for (int i = 0; i < count; i++) pojos.add(new Pojo(i));
        return pojos;
    }

    private static Map<String, Integer> numbers() {
        Map<String, Integer> numbers = new HashMap<>();
        for (int i = 0; i < 1000; i++) numbers.put("key-" + i, i * 7);
        return numbers;
    }

    private static String text(String phrase) {
        return phrase.repeat((1 << 20) / phrase.getBytes(StandardCharsets.UTF_8).length);
    }

    /** A value, what it is read as, and the bytes that it is read from. */
    private static final class Subject {
        final Object value;
        final Class<?> type;
        byte[] bytes;

        Subject(Object value, Class<?> type) {
            this.value = value;
            this.type = type;
        }
    }

    private static final Map<String, Subject> SUBJECTS = Map.of(
            "pojo", new Subject(new Pojo(7), Pojo.class),
            "nested", new Subject(Order.sample(), Order.class),
            "list1000", new Subject(pojos(1000), List.class),
            "string1m", new Subject(text("The quick brown fox jumps over the lazy dog; "
                    + "\u654f\u6377\u7684\u68d5\u8272\u72d0\u72f8 \ud83e\udd8a does it again. "), String.class),
            "string1m_ascii", new Subject(text("The quick brown fox jumps over the lazy dog. "), String.class),
            "map1000", new Subject(numbers(), Map.class));

    public static void main(String[] args) throws IOException {
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            String answer;
            try {
                answer = answer(line.split(" "));
            } catch (IOException | RuntimeException e) {
                answer = "error: " + e;
            }
            System.out.println(answer);
        }
    }

    private static String answer(String[] words) throws IOException {
        Subject subject = SUBJECTS.get(words[1]);
        switch (words[0]) {
            case "write":
                return HexFormat.of().formatHex(encode(subject.value));
            case "read":
                subject.bytes = HexFormat.of().parseHex(words[2]);
                return same(decode(subject), subject.value) ? "same" : "other";
            case "encode":
                return time(words[2], () -> encode(subject.value));
            case "decode":
                return time(words[2], () -> decode(subject));
            default:
                throw new IllegalArgumentException(words[0]);
        }
    }

    private static byte[] encode(Object value) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream(256);
        Hessian2Output output = new Hessian2Output(bytes);
        output.setSerializerFactory(FACTORY);
        output.writeObject(value);
        output.flushBuffer();
        return bytes.toByteArray();
    }

    private static Object decode(Subject subject) throws IOException {
        Hessian2Input input = new Hessian2Input(new ByteArrayInputStream(subject.bytes));
        input.setSerializerFactory(FACTORY);
        return input.readObject(subject.type);
    }

    /** Maps have no order; everything else is the same if it is written so. */
    private static boolean same(Object a, Object b) throws IOException {
        if (a instanceof Map || b instanceof Map) return a.equals(b);
        return Arrays.equals(encode(a), encode(b));
    }

    private interface Work {
        Object run() throws IOException;
    }

    /** Nanoseconds a run. */
    private static String time(String millis, Work work) throws IOException {
        long limit = Long.parseLong(millis) * 1_000_000;
        long runs = 0;
        long batch = 1;
        long elapsed = 0;
        long start = System.nanoTime();
        while (elapsed < limit) {
            for (long i = 0; i < batch; i++) sink = work.run();
            runs += batch;
            long now = System.nanoTime() - start;
            if (now - elapsed < BATCH_NANOS) batch *= 2;
            elapsed = now;
        }
        return String.valueOf((double) elapsed / runs);
    }

    private static final SerializerFactory FACTORY = new SerializerFactory();
    private static final long BATCH_NANOS = 500_000;
    static Object sink;
}
