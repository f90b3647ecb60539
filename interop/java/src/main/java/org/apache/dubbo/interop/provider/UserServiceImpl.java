package org.apache.dubbo.interop.provider;

import org.apache.dubbo.interop.Bag;
import org.apache.dubbo.interop.Child;
import org.apache.dubbo.interop.Gender;
import org.apache.dubbo.interop.Node;
import org.apache.dubbo.interop.Result;
import org.apache.dubbo.interop.User;
import org.apache.dubbo.interop.UserException;
import org.apache.dubbo.interop.UserRuntimeException;
import org.apache.dubbo.interop.UserService;
import org.apache.dubbo.rpc.RpcContext;
import org.apache.dubbo.rpc.RpcException;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.ZonedDateTime;
import java.util.ArrayList;
import java.util.Date;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;

final class UserServiceImpl implements UserService {
    private final String suffix;
    private final Supplier<UserService> next;
    private final AtomicInteger oneways = new AtomicInteger();

    /** The answer of {@link #hello} ends with {@code suffix}; {@code next} is asked in turn for attachments, unless it is null. */
    UserServiceImpl(String suffix, Supplier<UserService> next) {
        this.suffix = suffix;
        this.next = next;
    }

    @Override public User getUser(String id) { return User.sample(id); }

    @Override public List<User> getUsers(List<String> ids) {
        List<User> users = new ArrayList<>();
        for (String id : ids) users.add(User.sample(id));
        return users;
    }

    @Override public Map<String, User> getUserMap(List<String> ids) {
        Map<String, User> users = new HashMap<>();
        for (String id : ids) users.put(id, User.sample(id));
        return users;
    }

    @Override public String hello(String s) { return "hello " + s + suffix; }

    @Override public User nothing(String id) { return null; }

    @Override public void fire(String s) {}

    @Override public User mix(String name, int age, User base) {
        User user = base == null ? new User() : base;
        user.setName(name);
        user.setAge(age);
        return user;
    }

    @Override public byte[] big(byte[] in, int size) { return GreeterImpl.pattern(size); }

    @Override public String sleep(long millis) {
        Held held = new Held("sleep");
        held.pause(millis);
        held.done();
        return "slept";
    }

    @Override public Map<String, Object> attachments(String key) {
        if (next != null) return next.get().attachments(key);
        Map<String, Object> seen = new HashMap<>();
        RpcContext.getServerAttachment().getObjectAttachments().forEach((name, value) -> seen.put(name, String.valueOf(value)));
        RpcContext.getServerContext().setAttachment(key, "reply-" + key);
        return seen;
    }

    @Override public String remote() { return RpcContext.getServiceContext().getRemoteAddressString(); }

    @Override public String fail(String message) { throw new RuntimeException(message); }

    @Override public String failStatus(int code, String message) { throw new RpcException(code, message); }

    @Override public String throwChecked(String message) throws UserException { throw new UserException(message, 42, "d"); }

    @Override public String throwRuntime(String message) { throw new IllegalStateException(message); }

    @Override public String throwUndeclared(String message) {
        throw new UserRuntimeException(message, new IllegalArgumentException("inner"));
    }

    @Override public String throwNullMessage() { throw new IllegalStateException((String) null); }

    @Override public void oneway(String s) { oneways.incrementAndGet(); }

    @Override public int onewayCount() { return oneways.get(); }

    @Override public String noArgs() { return "no-args"; }

    @Override public String three(String a, int b, User c) { return a + "|" + b + "|" + (c == null ? null : c.getId()); }

    @Override public String overload(String a) { return "S:" + a; }

    @Override public String overload(int a) { return "I:" + a; }

    @Override public String overload(String a, int b) { return "SI:" + a + ":" + b; }

    @Override public CompletableFuture<String> sayAsync(String s) {
        return CompletableFuture.supplyAsync(() -> "async " + s, CompletableFuture.delayedExecutor(20, TimeUnit.MILLISECONDS));
    }

    @Override public BigDecimal decimal(BigDecimal v) { return v; }

    @Override public BigInteger integer(BigInteger v) { return v; }

    @Override public byte[] ping(byte[] v) { return v; }

    @Override public Object echo(Object v) { return v; }

    @Override public User echoUser(User v) { return v; }

    @Override public Bag echoBag(Bag v) { return v; }

    @Override public User[] echoUserArray(User[] v) { return v; }

    @Override public Gender echoEnum(Gender v) { return v; }

    @Override public Node echoNode(Node v) { return v; }

    @Override public Child echoChild(Child v) { return v; }

    @Override public Result<User> echoResult(Result<User> v) { return v; }

    @Override public Result<Long> echoLongResult(Result<Long> v) { return v; }

    @Override public boolean echoBool(boolean v) { return v; }

    @Override public byte echoByte(byte v) { return v; }

    @Override public short echoShort(short v) { return v; }

    @Override public char echoChar(char v) { return v; }

    @Override public int echoInt(int v) { return v; }

    @Override public long echoLong(long v) { return v; }

    @Override public float echoFloat(float v) { return v; }

    @Override public double echoDouble(double v) { return v; }

    @Override public Integer echoInteger(Integer v) { return v; }

    @Override public Long echoBoxedLong(Long v) { return v; }

    @Override public String echoString(String v) { return v; }

    @Override public byte[] echoBytes(byte[] v) { return v; }

    @Override public Date echoDate(Date v) { return v; }

    @Override public LocalDate echoLocalDate(LocalDate v) { return v; }

    @Override public LocalTime echoLocalTime(LocalTime v) { return v; }

    @Override public LocalDateTime echoLocalDateTime(LocalDateTime v) { return v; }

    @Override public Instant echoInstant(Instant v) { return v; }

    @Override public Duration echoDuration(Duration v) { return v; }

    @Override public ZonedDateTime echoZonedDateTime(ZonedDateTime v) { return v; }

    @Override public UUID echoUuid(UUID v) { return v; }

    @Override public List<Object> echoList(List<Object> v) { return v; }

    @Override public List<String> echoStringList(List<String> v) { return v; }

    @Override public Map<Object, Object> echoMap(Map<Object, Object> v) { return v; }

    @Override public Map<String, String> echoStringMap(Map<String, String> v) { return v; }

    @Override public Set<String> echoSet(Set<String> v) { return v; }

    @Override public boolean[] echoBoolArray(boolean[] v) { return v; }

    @Override public int[] echoIntArray(int[] v) { return v; }

    @Override public long[] echoLongArray(long[] v) { return v; }

    @Override public double[] echoDoubleArray(double[] v) { return v; }

    @Override public String[] echoStringArray(String[] v) { return v; }

    @Override public Object[] echoObjectArray(Object[] v) { return v; }
}
