//! The recorded calls of services without protobuf, made through typed clients and through the generic one.

use dubbo::{
    Instance, Status,
    config::ReferenceConfig,
    hessian2::{FromHessian, Value, from_slice, java::json::from_json},
    java::{GenericClient, GenericMode},
    service,
};
use futures_util::stream;
use interop::user::{User, UserServiceClient, UserStreamServiceClient};
use prost::Message as _;

use crate::{
    calls::{Plan, many, one, refer},
    told::Told,
    values,
    wrapped::Wrapper,
};

/// What was called although the contract does not have it.
#[service(interface = "org.apache.dubbo.interop.UserService")]
pub(crate) trait Odd {
    #[dubbo(name = "hello")]
    async fn hello_number(&self, v: i32) -> Result<String, Status>;
    #[dubbo(name = "hello")]
    async fn hello_both(&self, a: String, b: String) -> Result<String, Status>;
    async fn no_such_method(&self, v: String) -> Result<String, Status>;
    async fn optional_result(&self, v: String) -> Result<Value, Status>;
}

/// Calls a method by its name in Java, with as many of the recorded arguments as it has parameters.
macro_rules! call {
    ($plan:ident, $java:expr, $client:expr, {
        $($name:literal => $method:ident($($parameter:ident),*),)*
    }) => {{
        let client = $client;
        let mut arguments = Arguments::of(&$plan);
        match $java {
            $($name => {
                let call = client.$method($(arguments.take(stringify!($parameter))),*);
                one(call, $plan, values::told).await
            })*
            other => panic!("no client calls {other}"),
        }
    }};
}

/// Makes the call of `plan`, whose path ends in `method`.
pub(crate) async fn make(
    plan: Plan,
    instance: &Instance,
    options: ReferenceConfig,
    method: &str,
) -> Told {
    match method {
        "$invoke" | "$invokeAsync" | "$echo" => generic(plan, instance, options, method).await,
        "serverStream" => {
            let client: UserStreamServiceClient = refer(instance, options).await;
            let prefix = Arguments::of(&plan).take("prefix");
            many(client.server_stream(prefix), plan, values::told).await
        }
        "biStream" => {
            let client: UserStreamServiceClient = refer(instance, options).await;
            let messages = plan.messages.iter();
            let users: Vec<User> = messages
                .map(|message| Arguments::read(message).take("user"))
                .collect();
            many(client.bi_stream(stream::iter(users)), plan, values::told).await
        }
        _ => typed(plan, instance, options, method).await,
    }
}

async fn typed(plan: Plan, instance: &Instance, options: ReferenceConfig, method: &str) -> Told {
    let types = Arguments::of(&plan).types.join(",");
    // Where the name does not say which method it is.
    let name = match method {
        "overload" | "hello" => format!("{method}({types})"),
        other => other.to_owned(),
    };
    match &*name {
        "hello(int)"
        | "hello(java.lang.String,java.lang.String)"
        | "noSuchMethod"
        | "optionalResult" => odd(plan, refer(instance, options).await, &name).await,
        name => usual(plan, refer(instance, options).await, name).await,
    }
}

async fn odd(plan: Plan, client: OddClient, name: &str) -> Told {
    call!(plan, name, client, {
        "hello(int)" => hello_number(v),
        "hello(java.lang.String,java.lang.String)" => hello_both(a, b),
        "noSuchMethod" => no_such_method(v),
        "optionalResult" => optional_result(v),
    })
}

async fn usual(plan: Plan, client: UserServiceClient, name: &str) -> Told {
    call!(plan, name, client, {
        "attachments" => attachments(key),
        "big" => big(input, size),
        "bigString" => big_string(chars),
        "decimal" => decimal(v),
        "doVoid" => do_void(s),
        "echo" => echo(v),
        "echoBag" => echo_bag(v),
        "echoBigDecimal" => echo_big_decimal(v),
        "echoBigInteger" => echo_big_integer(v),
        "echoBool" => echo_bool(v),
        "echoBoolArray" => echo_bool_array(v),
        "echoBoxedLong" => echo_boxed_long(v),
        "echoByte" => echo_byte(v),
        "echoBytes" => echo_bytes(v),
        "echoChar" => echo_char(v),
        "echoCharArray" => echo_char_array(v),
        "echoChild" => echo_child(v),
        "echoDate" => echo_date(v),
        "echoDouble" => echo_double(v),
        "echoDoubleArray" => echo_double_array(v),
        "echoDuration" => echo_duration(v),
        "echoEnum" => echo_enum(v),
        "echoFloat" => echo_float(v),
        "echoFloatArray" => echo_float_array(v),
        "echoInstant" => echo_instant(v),
        "echoInt" => echo_int(v),
        "echoIntArray" => echo_int_array(v),
        "echoIntMatrix" => echo_int_matrix(v),
        "echoInteger" => echo_integer(v),
        "echoList" => echo_list(v),
        "echoLocalDate" => echo_local_date(v),
        "echoLocalDateTime" => echo_local_date_time(v),
        "echoLocalTime" => echo_local_time(v),
        "echoLong" => echo_long(v),
        "echoLongArray" => echo_long_array(v),
        "echoLongResult" => echo_long_result(v),
        "echoMap" => echo_map(v),
        "echoNode" => echo_node(v),
        "echoObjectArray" => echo_object_array(v),
        "echoResult" => echo_result(v),
        "echoSet" => echo_set(v),
        "echoShort" => echo_short(v),
        "echoShortArray" => echo_short_array(v),
        "echoString" => echo_string(v),
        "echoStringArray" => echo_string_array(v),
        "echoStringList" => echo_string_list(v),
        "echoStringMap" => echo_string_map(v),
        "echoUser" => echo_user(v),
        "echoUserArray" => echo_user_array(v),
        "echoUuid" => echo_uuid(v),
        "echoZonedDateTime" => echo_zoned_date_time(v),
        "fail" => fail(message),
        "failStatus" => fail_status(code, message),
        "fire" => fire(s),
        "getUser" => get_user(id),
        "getUserMap" => get_user_map(ids),
        "getUsers" => get_users(ids),
        "hello(java.lang.String)" => hello(s),
        "integer" => integer(v),
        "mix" => mix(name, age, base),
        "noArgs" => no_args(),
        "nothing" => nothing(id),
        "oneway" => oneway(s),
        "onewayCount" => oneway_count(),
        "overload(int)" => overload_int(a),
        "overload(java.lang.String)" => overload(a),
        "overload(java.lang.String,int)" => overload_both(a, b),
        "ping" => ping(v),
        "returnNull" => return_null(),
        "returnNullUser" => return_null_user(),
        "sayAsync" => say_async(s),
        "sleep" => sleep(millis),
        "three" => three(a, b, c),
        "throwChecked" => throw_checked(message),
        "throwNullMessage" => throw_null_message(),
        "throwRpc" => throw_rpc(code, message),
        "throwRuntime" => throw_runtime(message),
        "throwUndeclared" => throw_undeclared(message),
    })
}

async fn generic(plan: Plan, instance: &Instance, options: ReferenceConfig, method: &str) -> Told {
    let client = instance.generic_with(plan.service(), options).await;
    let client = client.expect("a server listens");
    let mut arguments = Arguments::of(&plan);
    if method == "$echo" {
        let value: Value = arguments.take("value");
        return one(client.echo(value), plan, values::told).await;
    }
    let target: String = arguments.take("method");
    let types: Option<Vec<String>> = arguments.take("types");
    let types: Option<Vec<&str>> = types
        .as_ref()
        .map(|types| types.iter().map(String::as_str).collect());
    let values: Vec<Value> = arguments.take("args");
    let mode: GenericMode = plan.generic_mode().parse().expect("a mode");
    let client: GenericClient = client.with_mode(mode);
    match mode {
        GenericMode::Gson => {
            let values: Vec<_> = values.iter().map(json).collect();
            let call = client.invoke_json(
                &target,
                types.as_deref(),
                &format!("[{}]", values.join(",")),
            );
            one(call.expect("JSON"), plan, |text: &String| {
                values::told(text)
            })
            .await
        }
        _ => {
            one(
                client.invoke(&target, types.as_deref(), values),
                plan,
                values::told,
            )
            .await
        }
    }
}

/// JSON, or what should have been.
fn json(argument: &Value) -> String {
    let text = argument.as_str().map(str::to_owned);
    match text {
        Some(text) if from_json(&text).is_ok() => text,
        Some(text) => format!("{text:?}"),
        None => format!("{:?}", values::shown(argument, values::Detail::Caller)),
    }
}

/// The arguments of one recorded request. A recorded caller that was answered too soon may not have sent them.
struct Arguments {
    values: std::vec::IntoIter<Vec<u8>>,
    types: Vec<String>,
}

impl Arguments {
    fn of(plan: &Plan) -> Self {
        Self::read(plan.messages.first().map_or(&[], Vec::as_slice))
    }

    fn read(message: &[u8]) -> Self {
        let wrapper = Wrapper::decode(message).expect("a wrapper");
        Self {
            values: wrapper.values.into_iter(),
            types: wrapper.types,
        }
    }

    /// The next one, which is called `name`.
    fn take<T: FromHessian>(&mut self, name: &str) -> T {
        let bytes = self.values.next().unwrap_or_else(|| b"N".to_vec());
        from_slice(&bytes).unwrap_or_else(|error| panic!("`{name}`: {error}: {bytes:02x?}"))
    }
}
