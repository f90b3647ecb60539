//! Java's classes as Rust types: read from what Dubbo Java 3.3.6 wrote, and written again byte for byte.

mod support;

use std::fmt::Debug;

use dubbo_hessian2::{
    FromHessian, JavaType, ToHessian, Value, from_slice,
    java::{
        AtomicBoolean, AtomicInteger, AtomicLong, BigDecimal, BigInteger, BitSet, Calendar,
        ClassName, Currency, Date, Duration, EnumSet, File, Instant, LinkedHashMap, LinkedHashSet,
        LinkedList, LocalDate, LocalDateTime, LocalTime, Locale, MonthDay, OffsetDateTime,
        OffsetTime, Period, SqlDate, SqlTime, SqlTimestamp, TreeMap, TreeSet, Uri, Uuid, Year,
        YearMonth, ZoneId, ZoneOffset, ZonedDateTime,
    },
};
use support::{bytes, golden, hex, same};

/// The golden value `name` is this value, in both directions.
#[track_caller]
fn is<T: ToHessian + FromHessian + PartialEq + Debug>(name: &str, value: T) {
    same(value, &hex(golden::named(name)));
}

fn parsed<T: std::str::FromStr<Err: Debug>>(text: &str) -> T {
    text.parse().expect(text)
}

#[test]
fn points_in_time() {
    is(
        "Instant.before-1970",
        parsed::<Instant>("1969-12-31T23:59:59.999Z"),
    );
    for (name, text) in [
        ("Instant.min", "-1000000000-01-01T00:00:00Z"),
        ("Instant.max", "+1000000000-12-31T23:59:59.999999999Z"),
    ] {
        let instant: Instant = from_slice(golden::named(name)).expect("decodes");
        assert_eq!(instant.to_string(), text);
        is(name, instant);
    }
    is(
        "OffsetDateTime.min",
        parsed::<OffsetDateTime>("-999999999-01-01T00:00+18:00"),
    );
    is(
        "ZonedDateTime.region-utc",
        parsed::<ZonedDateTime>("2024-02-29T00:00Z[UTC]"),
    );
    is("date.1500000000123", Date::from_millis(1_500_000_000_123));
    let millis = Date::from_millis(1_234_567_890_123);
    is("sql.Timestamp", SqlTimestamp(millis));
    is("sql.Date", SqlDate(millis));
    is("sql.Time", SqlTime(millis));
    is(
        "Calendar",
        Calendar::from(Date::from_millis(1_500_000_000_123)),
    );
    is(
        "Instant",
        parsed::<Instant>("2023-11-14T22:13:20.123456789Z"),
    );
    is(
        "OffsetDateTime",
        parsed::<OffsetDateTime>("2024-02-29T01:02:03.000000004+02:00"),
    );
    is(
        "ZonedDateTime",
        parsed::<ZonedDateTime>("2024-02-29T01:02:03.000000004+08:00[Asia/Shanghai]"),
    );
    is(
        "ZonedDateTime.Z",
        parsed::<ZonedDateTime>("2024-02-29T01:02:03.000000004Z"),
    );
}

#[test]
fn calendar_and_clock() {
    is("LocalDate.min", parsed::<LocalDate>("-999999999-01-01"));
    is("LocalDate.max", parsed::<LocalDate>("+999999999-12-31"));
    is("LocalTime.midnight", LocalTime::MIDNIGHT);
    is("LocalTime.max", parsed::<LocalTime>("23:59:59.999999999"));
    is(
        "LocalDateTime.max",
        parsed::<LocalDateTime>("+999999999-12-31T23:59:59.999999999"),
    );
    is("Year.-44", parsed::<Year>("-44"));
    is("YearMonth.min", parsed::<YearMonth>("-999999999-01"));
    is("MonthDay.last", parsed::<MonthDay>("--12-31"));
    let array: Box<[Option<LocalDate>]> = vec![Some(parsed("2024-02-29")), None].into();
    is("LocalDate[]", array);
    is("LocalDate", parsed::<LocalDate>("2024-02-29"));
    is(
        "LocalDate.same.twice",
        vec![parsed::<LocalDate>("2024-02-29"); 2],
    );
    is("LocalTime", parsed::<LocalTime>("01:02:03.000000004"));
    is(
        "LocalDateTime",
        parsed::<LocalDateTime>("2024-02-29T01:02:03.000000004"),
    );
    is(
        "OffsetTime",
        parsed::<OffsetTime>("01:02:03.000000004+02:00"),
    );
    is("Year", parsed::<Year>("2024"));
    is("YearMonth", parsed::<YearMonth>("2024-02"));
    is("MonthDay", parsed::<MonthDay>("--02-29"));
}

#[test]
fn amounts_and_zones() {
    is("Duration.zero", Duration::default());
    is("Duration.-0.5s", parsed::<Duration>("PT-0.5S"));
    is(
        "Duration.max",
        Duration::new(i64::MAX, 999_999_999).expect("Java's longest"),
    );
    is("Period.negative", parsed::<Period>("P-1Y-31D"));
    is("Period.zero", Period::default());
    is("ZoneOffset.UTC", ZoneOffset::UTC);
    is("ZoneOffset.seconds", parsed::<ZoneOffset>("-01:30:15"));
    is("ZoneId.offset", parsed::<ZoneId>("UTC+08:00"));
    is("Duration", parsed::<Duration>("PT30.00000001S"));
    is("Period", parsed::<Period>("P1Y2M3D"));
    is("ZoneOffset", parsed::<ZoneOffset>("+08:00"));
    is("ZoneId", parsed::<ZoneId>("Asia/Shanghai"));
}

#[test]
fn numbers() {
    for number in ["0", "100.256", "-1E+30", "1E-20"] {
        is(
            &format!("BigDecimal.{number}"),
            parsed::<BigDecimal>(number),
        );
    }
    for number in [
        "0",
        "1",
        "-1",
        "100256",
        "4294967296",
        "4294967298",
        "-4294967298",
        "123456789012345678901234567890",
        "-9223372036854775809",
        "2147483648",
    ] {
        is(
            &format!("BigInteger.{number}"),
            parsed::<BigInteger>(number),
        );
    }
    let array: Box<[BigDecimal]> = vec![parsed("1.5")].into();
    is("BigDecimal[]", array);
    is("AtomicInteger", AtomicInteger(5));
    is("AtomicLong", AtomicLong(5));
    is("AtomicBoolean", AtomicBoolean(true));
    is("AtomicBoolean.false", AtomicBoolean(false));
    is("BigDecimal.1.50", parsed::<BigDecimal>("1.50"));
}

#[test]
fn names() {
    is(
        "UUID",
        parsed::<Uuid>("24d9b3c0-1111-4222-8333-444444444444"),
    );
    is("Locale", parsed::<Locale>("zh_CN"));
    is("Locale.twice", vec![parsed::<Locale>("zh_CN"); 2]);
    is("Class.String", ClassName::of::<String>());
    is("Class.int", ClassName::of::<i32>());
    is("Class.int[]", ClassName::of::<Box<[i32]>>());
    is("Currency", parsed::<Currency>("USD"));
    is("URI", parsed::<Uri>("http://h/p"));
    is("Locale.root", parsed::<Locale>(""));
    is("Locale.script", parsed::<Locale>("zh_TW_#Hant"));
    is("File", parsed::<File>("/tmp/x"));
}

#[test]
fn collections() {
    let strings = |items: &[&str]| items.iter().map(ToString::to_string).collect::<Vec<_>>();
    is("ArrayList.7", vec![1, 2, 3, 4, 5, 6, 7]);
    is("ArrayList.8", vec![1, 2, 3, 4, 5, 6, 7, 8]);
    is("List.of", strings(&["a", "b"]));
    is("LinkedList", LinkedList(strings(&["a"])));
    is("LinkedList.8", LinkedList(vec![1, 2, 3, 4, 5, 6, 7, 8]));
    is("LinkedHashSet", LinkedHashSet(strings(&["b", "a"])));
    is(
        "TreeSet",
        TreeSet(strings(&["a", "b"]).into_iter().collect()),
    );
    is("HashSet", std::collections::HashSet::from(["a".to_owned()]));
    is(
        "HashMap.one",
        std::collections::HashMap::from([("a".to_owned(), 1)]),
    );
    is("LinkedHashMap", LinkedHashMap(vec![("a".to_owned(), 1)]));
    is("TreeMap", TreeMap([("a".to_owned(), 1)].into()));
    is(
        "BitSet.four",
        [0, 63, 64, 200].into_iter().collect::<BitSet>(),
    );
    is("BitSet.empty", BitSet::default());
    is("EnumSet.empty", EnumSet::<Day>::default());
    is(
        "EnumSet.days",
        [Day::Sunday, Day::Monday]
            .into_iter()
            .collect::<EnumSet<_>>(),
    );
    is("BitSet", [3].into_iter().collect::<BitSet>());
    is(
        "EnumSet",
        [Gender::Male].into_iter().collect::<EnumSet<_>>(),
    );
    is("Gender", Gender::Male);
    let twice: Vec<Gender> = from_slice(golden::named("Gender.twice")).expect("decodes");
    assert_eq!(twice, [Gender::Male, Gender::Female, Gender::Male]);
}

#[test]
fn arrays() {
    fn array<T>(items: impl IntoIterator<Item = T>) -> Box<[T]> {
        items.into_iter().collect()
    }
    is("int[]", array([1, 2]));
    is("int[].empty", array::<i32>([]));
    is("int[].8", array([0; 8]));
    is("long[]", array([1_i64, 1 << 40]));
    is("short[]", array([1_i16]));
    is("double[]", array([1.5, 2.0]));
    is("float[]", array([1.1_f32, 0.1]));
    is("boolean[]", array([true, false]));
    is("String[]", array([Some("a".to_owned()), None]));
    is("Integer[]", array([Some(1), None]));
    is("Long[]", array([Some(1_i64), None]));
    is("Boolean[]", array([Some(true), None]));
    is("Byte[]", array([Some(1_i8), None]));
    is("Character[]", array([Some('a'), None]));
    is("Double[]", array([Some(1.5), None]));
    is("Float[]", array([Some(1.1_f32), None]));
    is("Short[]", array([Some(1_i16), None]));
    is("Date[]", array([Date::from_millis(0)]));
    is("int[][]", array([array([1]), array([2])]));
    is("String[][]", array([array(["a".to_owned()])]));
    is("byte[][]", array([array([1_u8])]));
    is("Integer[][]", array([array([Some(1)])]));
    is("Gender[]", array([Gender::Male]));
    is("List[]", array([Vec::<i32>::new()]));
    is("Object[]", array([Value::from("a"), Value::from(1)]));
}

#[test]
fn names_of_java_for_signatures() {
    for (name, wanted) in [
        (Date::java_name(), "java.util.Date"),
        (SqlTimestamp::java_name(), "java.sql.Timestamp"),
        (Calendar::java_name(), "java.util.Calendar"),
        (LocalDate::java_name(), "java.time.LocalDate"),
        (Option::<Instant>::java_name(), "java.time.Instant"),
        (BigDecimal::java_name(), "java.math.BigDecimal"),
        (BigInteger::java_name(), "java.math.BigInteger"),
        (Uuid::java_name(), "java.util.UUID"),
        (Locale::java_name(), "java.util.Locale"),
        (ClassName::java_name(), "java.lang.Class"),
        (File::java_name(), "java.io.File"),
        (BitSet::java_name(), "java.util.BitSet"),
        (EnumSet::<Gender>::java_name(), "java.util.EnumSet"),
        (LinkedList::<i32>::java_name(), "java.util.LinkedList"),
        (
            LinkedHashMap::<i32, i32>::java_name(),
            "java.util.LinkedHashMap",
        ),
        (Box::<[LocalDate]>::java_name(), "[Ljava.time.LocalDate;"),
        (Box::<[Date]>::java_name(), "[Ljava.util.Date;"),
    ] {
        assert_eq!(name, wanted);
    }
    assert_eq!(Date::array_type(), "[date");
    assert_eq!(BigDecimal::array_type(), "[java.math.BigDecimal");
}

#[test]
fn fields_are_bound_by_name_in_any_order() {
    // dubbo-go writes the year first; extra fields are skipped, missing ones are zero.
    let class = "43 30 37 636f6d2e616c69626162612e636f6d2e63617563686f2e6865737369616e2e696f2e6a617661382e4c6f63616c4461746548616e646c65";
    let go = format!("{class} 93 0479656172 056d6f6e7468 03646179 60 cfe8 92 ad");
    assert_eq!(
        from_slice::<LocalDate>(&bytes(&go)).expect("decodes"),
        parsed("2024-02-29")
    );
    let more = format!("{class} 94 0479656172 056d6f6e7468 0178 03646179 60 cfe8 92 7991 ad");
    assert_eq!(
        from_slice::<LocalDate>(&bytes(&more)).expect("decodes"),
        parsed("2024-02-29")
    );
    let less = format!("{class} 92 0479656172 056d6f6e7468 60 cfe8 92");
    let error = from_slice::<LocalDate>(&bytes(&less)).expect_err("there is no day 0");
    assert!(error.to_string().contains("java.time.LocalDate"), "{error}");
}

#[test]
fn generic_calls_send_texts_numbers_and_maps() {
    #[expect(
        clippy::needless_pass_by_value,
        reason = "it reads better where it is called"
    )]
    fn reads<T: FromHessian + PartialEq + Debug>(value: &Value, wanted: T) {
        assert_eq!(value.to::<T>().expect("decodes"), wanted, "{value:?}");
    }
    reads(&"2024-02-29".into(), parsed::<LocalDate>("2024-02-29"));
    reads(&"01:02".into(), parsed::<LocalTime>("01:02"));
    reads(
        &"2024-02-29T01:02".into(),
        parsed::<LocalDateTime>("2024-02-29T01:02"),
    );
    reads(
        &"2023-11-14T22:13:20Z".into(),
        parsed::<Instant>("2023-11-14T22:13:20Z"),
    );
    reads(
        &1_500_000_000_123_i64.into(),
        Date::from_millis(1_500_000_000_123),
    );
    reads(&"1970-01-01T00:00:01Z".into(), Date::from_millis(1_000));
    reads(&Value::Date(5), SqlTimestamp(Date::from_millis(5)));
    reads(
        &Value::of(&SqlTimestamp(Date::from_millis(5))).expect("encodes"),
        Date::from_millis(5),
    );
    reads(&100.256.into(), parsed::<BigDecimal>("100.256"));
    reads(&7.into(), parsed::<BigDecimal>("7"));
    reads(&"1E+30".into(), parsed::<BigDecimal>("1E+30"));
    reads(&7_i64.into(), BigInteger::from(7));
    reads(&"-7".into(), BigInteger::from(-7));
    reads(&"zh_CN".into(), parsed::<Locale>("zh_CN"));
    reads(&"MALE".into(), Gender::Male);
    reads(
        &Value::list(["MALE".into()]),
        [Gender::Male].into_iter().collect::<EnumSet<_>>(),
    );
    reads(&5.into(), AtomicInteger(5));
    reads(&true.into(), AtomicBoolean(true));
    let day = Value::map([
        ("year".into(), 2024.into()),
        ("month".into(), 2.into()),
        ("day".into(), 29.into()),
    ]);
    reads(&day, parsed::<LocalDate>("2024-02-29"));
}

#[test]
fn big_integers_of_other_jdks_and_of_go_are_read() {
    let big = |mag: Value, signum: i32| {
        Value::object(
            "java.math.BigInteger",
            [
                ("signum", signum.into()),
                ("bitCount", 0.into()),
                ("bitLength", 0.into()),
                ("lowestSetBit", 0.into()),
                ("firstNonzeroIntNum", 0.into()),
                ("mag", mag),
            ],
        )
    };
    let wanted = BigInteger::from(-((1_i64 << 32) + 0xffff_fffe));
    let ints = Value::typed_list("[int", [1.into(), (-2).into()]);
    let longs = Value::typed_list("[long", [1_i64.into(), 0xffff_fffe_i64.into()]);
    let untyped = Value::list([1.into(), 0xffff_fffe_i64.into()]);
    for mag in [ints, longs, untyped] {
        assert_eq!(big(mag, -1).to::<BigInteger>().expect("decodes"), wanted);
    }
    for (mag, signum) in [
        (Value::list([1.into()]), 0),
        (Value::list([1.into()]), 2),
        (Value::list([(1_i64 << 32).into()]), 1),
        (Value::list([i64::MIN.into()]), 1),
        (Value::Null, 1),
    ] {
        assert!(
            big(mag.clone(), signum).to::<BigInteger>().is_err(),
            "{mag:?} {signum}"
        );
    }
}

#[test]
fn null_needs_an_option() {
    assert_eq!(
        from_slice::<Option<LocalDate>>(b"N").expect("decodes"),
        None
    );
    let error = from_slice::<LocalDate>(b"N").expect_err("null");
    assert!(error.to_string().contains("java.time.LocalDate"), "{error}");
    assert!(error.to_string().contains("Option"), "{error}");
    for failed in [
        from_slice::<Date>(b"N").is_err(),
        from_slice::<BigInteger>(b"N").is_err(),
        from_slice::<BigDecimal>(b"N").is_err(),
        from_slice::<Uuid>(b"N").is_err(),
    ] {
        assert!(failed);
    }
    // A collection is empty, as Go's nil slice is.
    assert_eq!(
        from_slice::<EnumSet<Gender>>(b"N").expect("decodes"),
        EnumSet::default()
    );
}

#[test]
fn values_that_java_would_refuse_are_refused() {
    let handle = |name: &str, fields: &[(&str, i32)]| {
        let class = format!("com.alibaba.com.caucho.hessian.io.java8.{name}Handle");
        Value::object(
            class,
            fields
                .iter()
                .map(|(name, value)| (*name, Value::Int(*value))),
        )
    };
    assert!(
        handle("LocalDate", &[("year", 2023), ("month", 2), ("day", 29)])
            .to::<LocalDate>()
            .is_err()
    );
    assert!(
        handle("LocalTime", &[("hour", 24)])
            .to::<LocalTime>()
            .is_err()
    );
    assert!(handle("Instant", &[("nanos", -1)]).to::<Instant>().is_err());
    assert!(
        handle("Duration", &[("nanos", 1_000_000_000)])
            .to::<Duration>()
            .is_err()
    );
    assert!(
        handle("ZoneOffset", &[("seconds", 64_801)])
            .to::<ZoneOffset>()
            .is_err()
    );
    assert!(
        handle("MonthDay", &[("month", 2), ("day", 30)])
            .to::<MonthDay>()
            .is_err()
    );
    let error = Value::object("java.util.UUID", [("value", "x".into())])
        .to::<Uuid>()
        .expect_err("no UUID");
    assert!(
        error.to_string().contains("\"x\" is no java.util.UUID"),
        "{error}"
    );
}

#[derive(Clone, Copy, Debug, Eq, dubbo_hessian2::Hessian, Ord, PartialEq, PartialOrd)]
#[hessian(class = "org.apache.dubbo.interop.Gender")]
enum Gender {
    Male,
    Female,
}

#[derive(Clone, Copy, Debug, Eq, dubbo_hessian2::Hessian, Ord, PartialEq, PartialOrd)]
#[hessian(class = "java.time.DayOfWeek")]
enum Day {
    Monday,
    Sunday,
}
