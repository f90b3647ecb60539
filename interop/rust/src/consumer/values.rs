//! Values of every kind, sent and received: as `java.lang.Object`, and as the types of parameters and results.

use dubbo::{
    Call, Response,
    hessian2::{
        Shared, ToHessian, Value as Any,
        java::{
            BigDecimal, BigInteger, Date, Duration, Instant, LocalDate, LocalDateTime, LocalTime,
            Uuid, ZoneId, ZoneOffset, ZonedDateTime,
        },
    },
};
use serde_json::{Map, Value, json};

use super::{Target, outcome::Fault, text, user};
use crate::{
    pattern,
    user::{Gender, Node, User, UserServiceClient},
};

/// Runs the case of `target`, if it is one of values.
pub(super) async fn run(target: &Target<'_>) -> Option<Result<Value, Fault>> {
    let Some(values) = values(target.case) else {
        return Some(match target.case {
            "echo_null" => null(target).await,
            "echo_shared" => shared(target).await,
            "echo_unknown_class" => unknown_class(target).await,
            "user_scalars" => Ok(scalars(target).await),
            "user_boxed" => Ok(boxed(target).await),
            "user_times" => times(target).await,
            "user_collections" => collections(target).await,
            "user_arrays" => Ok(arrays(target).await),
            _ => return None,
        });
    };
    let values = match values {
        Ok(values) => values,
        Err(fault) => return Some(Err(fault)),
    };
    let mut comparison = Comparison::new(target);
    for value in values {
        comparison.of(value, UserServiceClient::echo).await;
    }
    Some(Ok(comparison.outcome()))
}

/// What a case sends, and wants to have back.
fn values(case: &str) -> Option<Result<Vec<Any>, Fault>> {
    simple_values(case)
        .or_else(|| containers(case))
        .map(Ok)
        .or_else(|| objects(case))
}

fn simple_values(case: &str) -> Option<Vec<Any>> {
    Some(match case {
        "echo_bool" => vec![true.into(), false.into()],
        "echo_int" => INTS.map(Any::from).into(),
        "echo_long" => LONGS.map(Any::from).into(),
        "echo_double" => DOUBLES.map(Any::from).into(),
        "echo_string" => [
            String::new(),
            "x".repeat(31),
            "x".repeat(32),
            "x".repeat(1023),
            "x".repeat(1024),
            "é 中文 \0 end".to_owned(),
            "a😀b".to_owned(),
            "0123456789".repeat(7000),
            "x".repeat(32_767) + "😀",
            "é中😀".repeat(17_500),
        ]
        .map(Any::from)
        .into(),
        "echo_bytes" => [0, 15, 16, 1023, 1024, 70_000]
            .map(|len| bytes(&pattern(len)))
            .into(),
        "echo_date" => [
            0,
            894_621_060_000,
            894_621_091_001,
            -60_000,
            1_500_000_000_123,
        ]
        .map(Any::Date)
        .into(),
        _ => return None,
    })
}

fn containers(case: &str) -> Option<Vec<Any>> {
    let (a, b) = (|| Any::from("a"), || Any::from("b"));
    Some(match case {
        "echo_list" => vec![
            Any::list([]),
            Any::list([
                1.into(),
                2_i64.into(),
                "s".into(),
                Any::Null,
                true.into(),
                1.5.into(),
                bytes(&[1]),
            ]),
            Any::list([Any::list([1.into()]), Any::list([])]),
            Any::list([1, 2, 3, 4, 5, 6, 7, 8].map(Any::from)),
        ],
        "echo_map" => vec![
            Any::map([]),
            Any::map([(a(), 1.into())]),
            Any::map([(a(), 1.into()), (2.into(), b()), (true.into(), "c".into())]),
        ],
        "echo_map_null_key" => vec![Any::map([(Any::Null, "x".into())])],
        "echo_set" => vec![Any::typed_list(
            "java.util.HashSet",
            ["x".into(), "y".into()],
        )],
        "echo_array" => vec![
            Any::typed_list("[int", [1, -2, 300_000].map(Any::from)),
            Any::typed_list("[long", [1, 1_i64 << 40].map(Any::from)),
            Any::typed_list("[double", [1.5, 2.0].map(Any::from)),
            Any::typed_list("[boolean", [true, false].map(Any::from)),
            Any::typed_list("[string", [a(), b()]),
        ],
        "echo_array_null" => vec![Any::typed_list("[string", [a(), Any::Null])],
        "echo_collection" => vec![
            Any::typed_list("java.util.LinkedList", [a(), b()]),
            Any::typed_map("java.util.TreeMap", [(a(), 1.into())]),
        ],
        _ => return None,
    })
}

fn objects(case: &str) -> Option<Result<Vec<Any>, Fault>> {
    Some(match case {
        "echo_enum" => all(&[&Gender::Male, &Gender::Female]),
        "echo_bean" => all(&[&User::sample("o")]),
        "echo_list_of_beans" => all(&[&vec![User::sample("A"), User::sample("B")]]),
        "echo_big_number" => big_numbers(),
        "echo_time" => java_times(),
        "echo_uuid" => uuid().and_then(|uuid| all(&[&uuid])),
        _ => return None,
    })
}

async fn null(target: &Target<'_>) -> Result<Value, Fault> {
    let back = target.label(target.user().await?.echo(Any::Null)).await?;
    Ok(if back.message().is_null() {
        Value::Null
    } else {
        format!("{:?}", back.message()).into()
    })
}

/// A bean that is there twice.
async fn shared(target: &Target<'_>) -> Result<Value, Fault> {
    let user = Any::of(&User::sample("A")).map_err(Fault::local)?;
    let back = target
        .label(target.user().await?.echo(Any::list([user.clone(), user])))
        .await?;
    Ok(match back.message().as_list() {
        Some([one, other]) if text::are_one(one, other) => "one".into(),
        _ => text::of(back.message()).into(),
    })
}

async fn unknown_class(target: &Target<'_>) -> Result<Value, Fault> {
    let fields = [("number", Any::from(7)), ("text", Any::from("t"))];
    let sent = Any::object("org.apache.dubbo.interop.OnlyRust", fields);
    let back = target
        .label(target.user().await?.echo(sent.clone()))
        .await?
        .into_message();
    Ok(match back.as_object() {
        Some(object) if text::of(&back) == text::of(&sent) => json!({
            "number": object.get("number").and_then(Any::as_i64),
            "text": object.get("text").and_then(Any::as_str),
        }),
        _ => text::of(&back).into(),
    })
}

/// A parent and two children that know it, one of them twice.
pub(super) async fn graph(target: &Target<'_>) -> Result<Value, Fault> {
    let node = |name: &str, parent: Option<&Shared<Node>>, children| Node {
        name: name.to_owned(),
        parent: parent.cloned(),
        children,
    };
    let root = Shared::cyclic(|root| {
        let one = Shared::new(node("one", Some(root), None));
        let two = Shared::new(node("two", Some(root), None));
        node("root", None, Some(vec![one.clone(), two, one]))
    });
    user::echo(target, root, UserServiceClient::echo_node).await
}

async fn scalars(target: &Target<'_>) -> Value {
    let mut c = Comparison::new(target);
    for v in [true, false] {
        c.of(v, UserServiceClient::echo_bool).await;
    }
    for v in [0, i8::MIN, i8::MAX] {
        c.of(v, UserServiceClient::echo_byte).await;
    }
    for v in [0, i16::MIN, i16::MAX] {
        c.of(v, UserServiceClient::echo_short).await;
    }
    for v in ['a', '中'] {
        c.of(v, UserServiceClient::echo_char).await;
    }
    for v in [0, i32::MIN, i32::MAX] {
        c.of(v, UserServiceClient::echo_int).await;
    }
    for v in [0, i64::MIN, i64::MAX] {
        c.of(v, UserServiceClient::echo_long).await;
    }
    for v in [0.0, 1.1, -3.5, f32::MAX] {
        c.of(v, UserServiceClient::echo_float).await;
    }
    for v in [0.0, 1.1, 1e300] {
        c.of(v, UserServiceClient::echo_double).await;
    }
    c.outcome()
}

async fn boxed(target: &Target<'_>) -> Value {
    let mut c = Comparison::new(target);
    for v in [None, Some(5)] {
        c.of(v, UserServiceClient::echo_integer).await;
    }
    for v in [None, Some(5)] {
        c.of(v, UserServiceClient::echo_boxed_long).await;
    }
    for v in [None, Some(""), Some("中文é")] {
        c.of(v.map(str::to_owned), UserServiceClient::echo_string)
            .await;
    }
    for v in [None, Some(vec![]), Some(vec![1, 2])] {
        c.of(v, UserServiceClient::echo_bytes).await;
    }
    for v in [None, Some(Date::from_millis(894_621_091_001))] {
        c.of(v, UserServiceClient::echo_date).await;
    }
    for v in [None, Some(Gender::Male)] {
        c.of(v, UserServiceClient::echo_enum).await;
    }
    c.outcome()
}

async fn times(target: &Target<'_>) -> Result<Value, Fault> {
    let mut c = Comparison::new(target);
    c.of(local_date()?, UserServiceClient::echo_local_date)
        .await;
    c.of(local_time()?, UserServiceClient::echo_local_time)
        .await;
    c.of(local_date_time()?, UserServiceClient::echo_local_date_time)
        .await;
    c.of(instant()?, UserServiceClient::echo_instant).await;
    c.of(duration()?, UserServiceClient::echo_duration).await;
    c.of(zoned()?, UserServiceClient::echo_zoned_date_time)
        .await;
    c.of(uuid()?, UserServiceClient::echo_uuid).await;
    Ok(c.outcome())
}

async fn collections(target: &Target<'_>) -> Result<Value, Fault> {
    let mut c = Comparison::new(target);
    let user = Any::of(&User::sample("l")).map_err(Fault::local)?;
    let mixed = vec![
        1.into(),
        2_i64.into(),
        "s".into(),
        Any::Null,
        true.into(),
        1.5.into(),
        user,
    ];
    c.of(mixed, UserServiceClient::echo_list).await;
    c.of(
        vec!["a".to_owned(), "b".to_owned()],
        UserServiceClient::echo_string_list,
    )
    .await;
    let map = Any::map([("a".into(), 1.into()), (2.into(), "b".into())]);
    c.of(map, UserServiceClient::echo_map).await;
    c.of(
        [("a".to_owned(), "b".to_owned())].into(),
        UserServiceClient::echo_string_map,
    )
    .await;
    c.of(
        ["x".to_owned(), "y".to_owned()].into(),
        UserServiceClient::echo_set,
    )
    .await;
    Ok(c.outcome())
}

async fn arrays(target: &Target<'_>) -> Value {
    let mut c = Comparison::new(target);
    c.of(Box::from([true, false]), UserServiceClient::echo_bool_array)
        .await;
    for v in [Box::from([]), Box::from([1, -2, 1 << 30])] {
        c.of(v, UserServiceClient::echo_int_array).await;
    }
    c.of(Box::from([1, i64::MAX]), UserServiceClient::echo_long_array)
        .await;
    c.of(
        Box::from([1.1, 2.0, 1e300]),
        UserServiceClient::echo_double_array,
    )
    .await;
    let strings = [Some("a".to_owned()), None, Some(String::new())];
    c.of(Box::from(strings), UserServiceClient::echo_string_array)
        .await;
    let objects = ["a".into(), 1.into(), Any::Null, 2_i64.into()];
    c.of(Box::from(objects), UserServiceClient::echo_object_array)
        .await;
    let users = [Some(User::sample("a")), None, Some(User::sample("b"))];
    c.of(Box::from(users), UserServiceClient::echo_user_array)
        .await;
    c.outcome()
}

/// Values that were sent, and what was different when they came back.
struct Comparison<'a> {
    target: &'a Target<'a>,
    differences: Map<String, Value>,
}

impl<'a> Comparison<'a> {
    fn new(target: &'a Target<'a>) -> Self {
        Self {
            target,
            differences: Map::new(),
        }
    }

    async fn of<T: ToHessian + Clone>(
        &mut self,
        sent: T,
        call: impl for<'c> FnOnce(&'c UserServiceClient, T) -> Call<'c, Response<T>>,
    ) {
        let outcome = match user::echo(self.target, sent.clone(), call).await {
            Ok(outcome) => outcome,
            Err(fault) => fault.to_json(),
        };
        if outcome != "equal" {
            self.differences.insert(text::of(&sent), outcome);
        }
    }

    /// "equal" when every value came back as it was sent, else those that did not.
    fn outcome(self) -> Value {
        if self.differences.is_empty() {
            "equal".into()
        } else {
            self.differences.into()
        }
    }
}

fn all(values: &[&dyn ToAny]) -> Result<Vec<Any>, Fault> {
    values.iter().map(|value| value.to_any()).collect()
}

/// What can be told as a value, whatever its type.
trait ToAny {
    fn to_any(&self) -> Result<Any, Fault>;
}

impl<T: ToHessian> ToAny for T {
    fn to_any(&self) -> Result<Any, Fault> {
        Any::of(self).map_err(Fault::local)
    }
}

fn bytes(bytes: &[u8]) -> Any {
    Any::Bytes(bytes.to_vec().into())
}

fn big_numbers() -> Result<Vec<Any>, Fault> {
    let decimal: BigDecimal = "100.256".parse().map_err(Fault::local)?;
    let integer: BigInteger = "-123456789012345678901234567890"
        .parse()
        .map_err(Fault::local)?;
    all(&[&decimal, &integer])
}

fn java_times() -> Result<Vec<Any>, Fault> {
    all(&[
        &local_date()?,
        &local_time()?,
        &local_date_time()?,
        &instant()?,
        &duration()?,
        &zoned()?,
    ])
}

fn local_date() -> Result<LocalDate, Fault> {
    LocalDate::new(2024, 2, 29).map_err(Fault::local)
}

fn local_time() -> Result<LocalTime, Fault> {
    LocalTime::new(1, 2, 3, 4).map_err(Fault::local)
}

fn local_date_time() -> Result<LocalDateTime, Fault> {
    Ok(LocalDateTime::new(local_date()?, local_time()?))
}

fn instant() -> Result<Instant, Fault> {
    Instant::new(1_700_000_000, 123_456_789).map_err(Fault::local)
}

fn duration() -> Result<Duration, Fault> {
    Duration::new(30, 10).map_err(Fault::local)
}

fn zoned() -> Result<ZonedDateTime, Fault> {
    let offset = ZoneOffset::from_seconds(8 * 3600).map_err(Fault::local)?;
    let zone = ZoneId::new("Asia/Shanghai").map_err(Fault::local)?;
    Ok(ZonedDateTime::new(local_date_time()?, offset, zone))
}

fn uuid() -> Result<Uuid, Fault> {
    "24d9b3c0-1111-4222-8333-444444444444"
        .parse()
        .map_err(Fault::local)
}

/// The limits of each form of the wire.
const INTS: [i32; 17] = [
    0,
    1,
    -1,
    -16,
    -17,
    47,
    48,
    -2048,
    -2049,
    2047,
    2048,
    -262_144,
    -262_145,
    262_143,
    262_144,
    i32::MIN,
    i32::MAX,
];
const LONGS: [i64; 18] = [
    0,
    -8,
    -9,
    15,
    16,
    -2048,
    -2049,
    2047,
    2048,
    -262_144,
    -262_145,
    262_143,
    262_144,
    -2_147_483_648,
    2_147_483_647,
    2_147_483_648,
    i64::MIN,
    i64::MAX,
];
const DOUBLES: [f64; 19] = [
    0.0,
    1.0,
    -1.0,
    127.0,
    128.0,
    -128.0,
    -129.0,
    32_767.0,
    32_768.0,
    -32_768.0,
    0.001,
    12.25,
    -0.5,
    std::f64::consts::PI,
    1e300,
    5e-324,
    f64::MAX,
    f64::NAN,
    f64::INFINITY,
];
