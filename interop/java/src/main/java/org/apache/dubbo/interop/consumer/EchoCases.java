package org.apache.dubbo.interop.consumer;

import org.apache.dubbo.interop.Gender;
import org.apache.dubbo.interop.User;
import org.apache.dubbo.interop.UserService;

import java.io.Serializable;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.ZoneId;
import java.time.ZonedDateTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Date;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;

/** Values of every kind that go to the provider and back as java.lang.Object. */
final class EchoCases {
    private EchoCases() {}

    static void addTo(Map<String, Case> cases) {
        cases.put("echo_null", t -> t.user().echo(null));
        cases.put("echo_bool", echo(true, false));
        cases.put("echo_int", echo(0, 1, -1, -16, -17, 47, 48, -2048, -2049, 2047, 2048, -262144, -262145, 262143, 262144,
                Integer.MIN_VALUE, Integer.MAX_VALUE));
        cases.put("echo_long", echo(0L, -8L, -9L, 15L, 16L, -2048L, -2049L, 2047L, 2048L, -262144L, -262145L, 262143L, 262144L,
                (long) Integer.MIN_VALUE, (long) Integer.MAX_VALUE, 2147483648L, Long.MIN_VALUE, Long.MAX_VALUE));
        cases.put("echo_double", echo(0.0, 1.0, -1.0, 127.0, 128.0, -128.0, -129.0, 32767.0, 32768.0, -32768.0, 0.001, 12.25, -0.5,
                Math.PI, 1e300, Double.MIN_VALUE, Double.MAX_VALUE, Double.NaN, Double.POSITIVE_INFINITY));
        cases.put("echo_string", echo("", "x".repeat(31), "x".repeat(32), "x".repeat(1023), "x".repeat(1024), "é 中文 \0 end", "a😀b",
                "0123456789".repeat(7000), "x".repeat(32767) + "😀", "é中😀".repeat(17500)));
        cases.put("echo_bytes", echo(new byte[0], UserCases.pattern(15), UserCases.pattern(16), UserCases.pattern(1023),
                UserCases.pattern(1024), UserCases.pattern(70000)));
        cases.put("echo_date", echo(new Date(0), new Date(894621060000L), new Date(894621091001L), new Date(-60000), new Date(1500000000123L)));
        cases.put("echo_enum", echo(Gender.MALE, Gender.FEMALE));
        cases.put("echo_bean", echo(User.sample("o")));
        cases.put("echo_list", echo(list(), list(1, 2L, "s", null, true, 1.5, new byte[] {1}), list(list(1), list()), list(1, 2, 3, 4, 5, 6, 7, 8)));
        cases.put("echo_list_of_beans", echo(list(User.sample("A"), User.sample("B"))));
        cases.put("echo_shared", t -> {
            User user = User.sample("A");
            List<?> back = (List<?>) t.user().echo(list(user, user));
            return back.get(0) == back.get(1) ? "one" : "two";
        });
        cases.put("echo_map", echo(new HashMap<>(), new HashMap<>(Map.of("a", 1)), new HashMap<>(Map.of("a", 1, 2, "b", true, "c"))));
        cases.put("echo_map_null_key", echo(new HashMap<>(Collections.singletonMap(null, "x"))));
        cases.put("echo_set", echo(new HashSet<>(List.of("x", "y"))));
        cases.put("echo_array", echo(new int[] {1, -2, 300000}, new long[] {1, 1L << 40}, new double[] {1.5, 2}, new boolean[] {true, false},
                new String[] {"a", "b"}));
        cases.put("echo_array_null", echo((Object) new String[] {"a", null}));
        cases.put("echo_collection", echo(new LinkedList<>(List.of("a", "b")), new TreeMap<>(Map.of("a", 1))));
        cases.put("echo_big_number", echo(new BigDecimal("100.256"), new BigInteger("-123456789012345678901234567890")));
        cases.put("echo_time", echo(LocalDate.of(2024, 2, 29), LocalTime.of(1, 2, 3, 4), LocalDateTime.of(2024, 2, 29, 1, 2, 3, 4),
                Instant.ofEpochSecond(1700000000L, 123456789), Duration.ofSeconds(30, 10),
                ZonedDateTime.of(2024, 2, 29, 1, 2, 3, 4, ZoneId.of("Asia/Shanghai"))));
        cases.put("echo_uuid", echo(UUID.fromString("24d9b3c0-1111-4222-8333-444444444444")));
        cases.put("echo_unknown_class", t -> {
            Object back = t.user().echo(new OnlyHere());
            return back instanceof OnlyHere here ? Map.of("number", here.number, "text", here.text) : Text.of(back);
        });

        cases.put("user_scalars", t -> {
            UserService user = t.user();
            return same(differences -> {
                for (boolean v : new boolean[] {true, false}) differences.add(v, () -> user.echoBool(v));
                for (byte v : new byte[] {0, -128, 127}) differences.add(v, () -> user.echoByte(v));
                for (short v : new short[] {0, -32768, 32767}) differences.add(v, () -> user.echoShort(v));
                for (char v : new char[] {'a', '中'}) differences.add(v, () -> user.echoChar(v));
                for (int v : new int[] {0, Integer.MIN_VALUE, Integer.MAX_VALUE}) differences.add(v, () -> user.echoInt(v));
                for (long v : new long[] {0, Long.MIN_VALUE, Long.MAX_VALUE}) differences.add(v, () -> user.echoLong(v));
                for (float v : new float[] {0, 1.1f, -3.5f, Float.MAX_VALUE}) differences.add(v, () -> user.echoFloat(v));
                for (double v : new double[] {0, 1.1, 1e300}) differences.add(v, () -> user.echoDouble(v));
            });
        });
        cases.put("user_boxed", t -> {
            UserService user = t.user();
            return same(differences -> {
                for (Integer v : new Integer[] {null, 5}) differences.add(v, () -> user.echoInteger(v));
                for (Long v : new Long[] {null, 5L}) differences.add(v, () -> user.echoBoxedLong(v));
                for (String v : new String[] {null, "", "中文é"}) differences.add(v, () -> user.echoString(v));
                for (byte[] v : new byte[][] {null, {}, {1, 2}}) differences.add(v, () -> user.echoBytes(v));
                for (Date v : new Date[] {null, new Date(894621091001L)}) differences.add(v, () -> user.echoDate(v));
                for (Gender v : new Gender[] {null, Gender.MALE}) differences.add(v, () -> user.echoEnum(v));
            });
        });
        cases.put("user_times", t -> {
            UserService user = t.user();
            return same(differences -> {
                LocalDate date = LocalDate.of(2024, 2, 29);
                differences.add(date, () -> user.echoLocalDate(date));
                LocalTime time = LocalTime.of(1, 2, 3, 4);
                differences.add(time, () -> user.echoLocalTime(time));
                differences.add(date.atTime(time), () -> user.echoLocalDateTime(date.atTime(time)));
                Instant instant = Instant.ofEpochSecond(1700000000L, 123456789);
                differences.add(instant, () -> user.echoInstant(instant));
                Duration duration = Duration.ofSeconds(30, 10);
                differences.add(duration, () -> user.echoDuration(duration));
                ZonedDateTime zoned = date.atTime(time).atZone(ZoneId.of("Asia/Shanghai"));
                differences.add(zoned, () -> user.echoZonedDateTime(zoned));
                UUID uuid = UUID.fromString("24d9b3c0-1111-4222-8333-444444444444");
                differences.add(uuid, () -> user.echoUuid(uuid));
            });
        });
        cases.put("user_collections", t -> {
            UserService user = t.user();
            return same(differences -> {
                List<Object> mixed = list(1, 2L, "s", null, true, 1.5, User.sample("l"));
                differences.add(mixed, () -> user.echoList(mixed));
                List<String> strings = new ArrayList<>(List.of("a", "b"));
                differences.add(strings, () -> user.echoStringList(strings));
                Map<Object, Object> map = new HashMap<>(Map.of("a", 1, 2, "b"));
                differences.add(map, () -> user.echoMap(map));
                Map<String, String> stringMap = new HashMap<>(Map.of("a", "b"));
                differences.add(stringMap, () -> user.echoStringMap(stringMap));
                HashSet<String> set = new HashSet<>(List.of("x", "y"));
                differences.add(set, () -> user.echoSet(set));
            });
        });
        cases.put("user_arrays", t -> {
            UserService user = t.user();
            return same(differences -> {
                boolean[] bools = {true, false};
                differences.add(bools, () -> user.echoBoolArray(bools));
                for (int[] ints : new int[][] {{}, {1, -2, 1 << 30}}) differences.add(ints, () -> user.echoIntArray(ints));
                long[] longs = {1, Long.MAX_VALUE};
                differences.add(longs, () -> user.echoLongArray(longs));
                double[] doubles = {1.1, 2, 1e300};
                differences.add(doubles, () -> user.echoDoubleArray(doubles));
                String[] strings = {"a", null, ""};
                differences.add(strings, () -> user.echoStringArray(strings));
                Object[] objects = {"a", 1, null, 2L};
                differences.add(objects, () -> user.echoObjectArray(objects));
                User[] users = {User.sample("a"), null, User.sample("b")};
                differences.add(users, () -> user.echoUserArray(users));
            });
        });
    }

    /** A class that no provider has. */
    static final class OnlyHere implements Serializable {
        private static final long serialVersionUID = 1L;
        int number = 7;
        String text = "t";
    }

    private static Case echo(Object... values) {
        return t -> {
            UserService user = t.user();
            return same(differences -> {
                for (Object value : values) differences.add(value, () -> user.echo(value));
            });
        };
    }

    private interface Call {
        Object run() throws Throwable;
    }

    private interface Comparison {
        void run(Differences differences);
    }

    private static final class Differences {
        private final Map<String, Object> found = new LinkedHashMap<>();

        void add(Object sent, Call call) {
            try {
                String back = Text.of(call.run());
                if (!back.equals(Text.of(sent))) found.put(Text.of(sent), back);
            } catch (Throwable t) {
                found.put(Text.of(sent), Fault.of(t));
            }
        }
    }

    /** "equal" when every value came back as it was sent, else those that did not. */
    private static Object same(Comparison comparison) {
        Differences differences = new Differences();
        comparison.run(differences);
        return differences.found.isEmpty() ? "equal" : differences.found;
    }

    private static List<Object> list(Object... items) { return new ArrayList<>(Arrays.asList(items)); }
}
