package org.apache.dubbo.interop;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.ZonedDateTime;
import java.util.Date;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;

/**
 * The contract without protobuf. Its name, methods and signatures are what every peer serves and calls; a method whose name
 * begins with "echo" returns its argument.
 *
 * <p>A provider exports it twice: plain, and as group "g1", version "1.0.0".
 */
public interface UserService {
    // What peers of every language have.

    /** See {@link User#sample}. */
    User getUser(String id);

    List<User> getUsers(List<String> ids);

    /** By id. */
    Map<String, User> getUserMap(List<String> ids);

    Object echo(Object v);

    User echoUser(User v);

    Bag echoBag(Bag v);

    /** "hello " + s; the export of group "g1" appends " from g1/1.0.0". */
    String hello(String s);

    /** Null. */
    User nothing(String id);

    void fire(String s);

    /** base with this name and age. */
    User mix(String name, int age, User base);

    /** Returns the argument. */
    BigDecimal decimal(BigDecimal v);

    /** Returns the argument. */
    BigInteger integer(BigInteger v);

    /** Returns the argument; used by the load generators. */
    byte[] ping(byte[] v);

    /** size bytes, byte i = i mod 251. */
    byte[] big(byte[] in, int size);

    /** Waits, then "slept". */
    String sleep(long millis);

    /** The attachments that the provider sees, as text; sends back the attachment key = "reply-" + key. */
    Map<String, Object> attachments(String key);

    /** The address that the call came from, as the provider sees it. */
    String remote();

    /** Ends with the language's plain error: a RuntimeException. */
    String fail(String message);

    /** Ends with a status: an RpcException of that code. */
    String failStatus(int code, String message);

    /** Ends with a {@link UserException} of code 42 and detail "d". */
    String throwChecked(String message) throws UserException;

    /** Ends with an IllegalStateException. */
    String throwRuntime(String message);

    /** Counts the calls of {@link #oneway}. */
    int onewayCount();

    void oneway(String s);

    // What needs Java's types.

    /** Ends with a {@link UserRuntimeException}, caused by an IllegalArgumentException "inner". */
    String throwUndeclared(String message);

    String throwNullMessage();

    String noArgs();

    /** a|b|c.id */
    String three(String a, int b, User c);

    /** "S:" + a */
    String overload(String a);

    /** "I:" + a */
    String overload(int a);

    /** "SI:" + a + ":" + b */
    String overload(String a, int b);

    /** "async " + s, a moment later. */
    CompletableFuture<String> sayAsync(String s);

    User[] echoUserArray(User[] v);

    Gender echoEnum(Gender v);

    Node echoNode(Node v);

    Child echoChild(Child v);

    Result<User> echoResult(Result<User> v);

    Result<Long> echoLongResult(Result<Long> v);

    boolean echoBool(boolean v);

    byte echoByte(byte v);

    short echoShort(short v);

    char echoChar(char v);

    int echoInt(int v);

    long echoLong(long v);

    float echoFloat(float v);

    double echoDouble(double v);

    Integer echoInteger(Integer v);

    Long echoBoxedLong(Long v);

    String echoString(String v);

    byte[] echoBytes(byte[] v);

    Date echoDate(Date v);

    LocalDate echoLocalDate(LocalDate v);

    LocalTime echoLocalTime(LocalTime v);

    LocalDateTime echoLocalDateTime(LocalDateTime v);

    Instant echoInstant(Instant v);

    Duration echoDuration(Duration v);

    ZonedDateTime echoZonedDateTime(ZonedDateTime v);

    UUID echoUuid(UUID v);

    List<Object> echoList(List<Object> v);

    List<String> echoStringList(List<String> v);

    Map<Object, Object> echoMap(Map<Object, Object> v);

    Map<String, String> echoStringMap(Map<String, String> v);

    Set<String> echoSet(Set<String> v);

    boolean[] echoBoolArray(boolean[] v);

    int[] echoIntArray(int[] v);

    long[] echoLongArray(long[] v);

    double[] echoDoubleArray(double[] v);

    String[] echoStringArray(String[] v);

    Object[] echoObjectArray(Object[] v);
}
