package org.apache.dubbo.interop.consumer;

import org.apache.dubbo.interop.Address;
import org.apache.dubbo.interop.Bag;
import org.apache.dubbo.interop.Child;
import org.apache.dubbo.interop.Node;
import org.apache.dubbo.interop.Result;
import org.apache.dubbo.interop.User;
import org.apache.dubbo.interop.UserService;
import org.apache.dubbo.rpc.RpcContext;
import org.apache.dubbo.rpc.service.EchoService;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** Calls of the service without protobuf. */
final class UserCases {
    private UserCases() {}

    static void addTo(Map<String, Case> cases) {
        cases.put("user_get", t -> show(t.user().getUser("A1")));
        cases.put("user_get_many", t -> t.user().getUsers(ids("A", "B")).stream().map(UserCases::show).toList());
        cases.put("user_get_map", t -> {
            Map<String, Object> got = new LinkedHashMap<>();
            t.user().getUserMap(ids("A")).forEach((id, user) -> got.put(id, show(user)));
            return got;
        });
        cases.put("user_echo", t -> equal(User.sample("E"), t.user().echoUser(User.sample("E"))));
        cases.put("user_null", t -> t.user().echoUser(null) == null ? null : "a user");
        cases.put("user_cycle", t -> {
            User user = User.sample("A");
            user.setFriend(user);
            return equal(user, t.user().echoUser(user));
        });
        cases.put("user_bag", t -> {
            Bag bag = new Bag();
            bag.setItems(new ArrayList<>(Arrays.asList(1, "two", 3L, null, User.sample("A"))));
            bag.setMap(new HashMap<>(Map.of("a", 1, 2, "b")));
            bag.setAddress(new Address("Zürich", 8000));
            bag.setSet(new HashSet<>(List.of("x", "y")));
            return equal(bag, t.user().echoBag(bag));
        });
        cases.put("user_graph", t -> {
            Node root = new Node("root");
            Node one = new Node("one");
            Node two = new Node("two");
            one.setParent(root);
            two.setParent(root);
            root.setChildren(new ArrayList<>(List.of(one, two, one)));
            return equal(root, t.user().echoNode(root));
        });
        // Of two fields with one name Java keeps the one of the subclass.
        cases.put("user_child", t -> {
            Child child = new Child();
            child.setId(7);
            child.setName("own");
            child.setExtra(1L << 33);
            return equal(child, t.user().echoChild(child));
        });
        cases.put("user_result", t -> {
            Result<User> user = new Result<>(1, "m", User.sample("r"));
            Result<Long> number = new Result<>(1, null, 5L);
            return List.of(equal(user, t.user().echoResult(user)), equal(number, t.user().echoLongResult(number)));
        });
        cases.put("user_hello", hello("é 中文 😀"));
        cases.put("user_nothing", t -> t.user().nothing("x"));
        cases.put("user_void", t -> {
            t.user().fire("x");
            return null;
        });
        cases.put("user_mix", t -> show(t.user().mix("new", 9, User.sample("A"))));
        cases.put("user_mix_null", t -> {
            User user = t.user().mix("new", 9, null);
            return List.of(user.getName(), user.getAge());
        });
        cases.put("user_no_args", t -> t.user().noArgs());
        cases.put("user_three", t -> List.of(t.user().three("a", 2, User.sample("u")), t.user().three(null, 2, null)));
        cases.put("user_overload", t -> List.of(t.user().overload("a"), t.user().overload(3), t.user().overload("a", 3)));
        cases.put("user_async", t -> t.user().sayAsync("x").get(5, TimeUnit.SECONDS));
        cases.put("user_oneway", t -> {
            int before = t.user().onewayCount();
            t.user().oneway("x");
            Thread.sleep(200);
            return t.user().onewayCount() - before;
        });
        cases.put("user_decimal", t -> t.user().decimal(new BigDecimal("-12345678901234567890.123456789")).toString());
        cases.put("user_integer", t -> t.user().integer(new BigInteger("-123456789012345678901234567890")).toString());
        cases.put("user_ping", t -> equal(pattern(5), t.user().ping(pattern(5))));
        cases.put("user_big_900k", big(900_000));
        cases.put("user_big_2m", big(2 << 20));
        cases.put("user_service_echo", t -> ((EchoService) t.user()).$echo("OK"));
        cases.put("user_group_version", t -> t.refer(UserService.class, usual -> usual.keyed("g1", "1.0.0")).hello("x"));
        cases.put("user_wrong_version", t -> t.refer(UserService.class, usual -> usual.keyed("", "9.9.9")).hello("x"));
        cases.put("user_wrong_group", t -> t.refer(UserService.class, usual -> usual.keyed("nogroup", "")).hello("x"));
        cases.put("user_unknown_service", t -> t.refer(Nobody.class, usual -> usual).hello("x"));
        cases.put("user_timeout", t -> t.refer(UserService.class, usual -> usual.within(Target.HASTY)).sleep(1000));
        cases.put("user_after_timeout", t -> {
            Thread.sleep(1000);
            return t.user().hello("again");
        });
        cases.put("user_attachments", t -> attachments(t, Map.of("userId", "7", "X-Mixed-Case", "v")));
        cases.put("user_attachments_nonascii", t -> attachments(t, Map.of("city", "Zürich 中")));
        cases.put("user_attachments_object", t -> attachments(t, Map.of("n", 7, "b", true, "l", new ArrayList<>(List.of("a", 1L)))));
    }

    /** A service that nobody has. */
    interface Nobody {
        String hello(String s);
    }

    static Case hello(String name) { return t -> t.user().hello(name); }

    /** The body of big answers. */
    static byte[] pattern(int size) {
        byte[] out = new byte[size];
        for (int i = 0; i < size; i++) out[i] = (byte) (i % 251);
        return out;
    }

    /** A user as every consumer prints it. */
    static Map<String, Object> show(User u) {
        Map<String, Object> shown = new LinkedHashMap<>();
        shown.put("id", u.getId());
        shown.put("name", u.getName());
        shown.put("age", u.getAge());
        shown.put("score", u.getScore());
        shown.put("rate", u.getRate());
        shown.put("active", u.isActive());
        shown.put("birth", u.getBirth().getTime());
        shown.put("gender", u.getGender().name());
        shown.put("tags", u.getTags());
        shown.put("attrs", u.getAttrs());
        shown.put("friend", u.getFriend() == null ? null : u.getFriend().getId());
        shown.put("photo", HexFormat.of().formatHex(u.getPhoto()));
        return shown;
    }

    private static Object equal(Object sent, Object back) {
        return Text.of(sent).equals(Text.of(back)) ? "equal" : Text.of(back);
    }

    private static List<String> ids(String... ids) { return new ArrayList<>(List.of(ids)); }

    /** Sends as much as it gets. */
    private static Case big(int size) {
        return t -> {
            byte[] back = t.refer(UserService.class, usual -> usual.within(Target.PATIENT)).big(pattern(size), size);
            return Map.of("as_asked", Arrays.equals(back, pattern(size)));
        };
    }

    private static Object attachments(Target t, Map<String, Object> sent) {
        UserService user = t.user();
        sent.forEach((name, value) -> RpcContext.getClientAttachment().setObjectAttachment(name, value));
        List<String> seen = GreeterCases.lines(user.attachments("reply"));
        return Map.of("seen", seen, "back", GreeterCases.lines(RpcContext.getClientResponseContext().getObjectAttachments()));
    }
}
