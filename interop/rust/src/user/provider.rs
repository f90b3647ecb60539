//! The behaviour that the contract asks of a provider.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        atomic::{AtomicI32, AtomicU64, Ordering},
    },
    time::Duration as Time,
};

use dubbo::{
    CallContext, Code, Hessian, Status,
    hessian2::{
        Shared, Value,
        java::{
            BigDecimal, BigInteger, Date, Duration, Instant, LocalDate, LocalDateTime, LocalTime,
            Throwable, Uuid, ZonedDateTime,
        },
    },
    java,
};
use tokio::time::sleep;

use super::{Bag, Child, Gender, Node, Outcome, User, UserService};
use crate::{headers, held::Held, pattern};

/// Implements the service.
#[derive(Debug)]
pub struct Users {
    suffix: String,
    work: Time,
    oneways: AtomicI32,
    greeted: Arc<AtomicU64>,
}

impl Users {
    /// The export without group and version.
    pub fn plain() -> Self {
        Self::with_suffix("")
    }

    /// The export of group `g1`, version `1.0.0`.
    pub fn grouped() -> Self {
        Self::with_suffix(" from g1/1.0.0")
    }

    /// One whose answers end with `suffix`.
    pub fn with_suffix(suffix: impl Into<String>) -> Self {
        Self {
            suffix: suffix.into(),
            work: Time::ZERO,
            oneways: AtomicI32::new(0),
            greeted: Arc::default(),
        }
    }

    /// Takes so long for each `hello`.
    pub fn working(self, work: Time) -> Self {
        Self { work, ..self }
    }

    /// How many calls of `hello` it has answered. It goes on counting.
    pub fn greeted(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.greeted)
    }
}

/// The fields of the checked exception.
#[derive(Debug, Hessian)]
#[hessian(class = "org.apache.dubbo.interop.UserException")]
struct UserException {
    code: i32,
    detail: String,
}

impl UserService for Users {
    async fn get_user(&self, id: String) -> Result<User, Status> {
        Ok(User::sample(&id))
    }

    async fn get_users(&self, ids: Vec<String>) -> Result<Vec<User>, Status> {
        Ok(ids.iter().map(|id| User::sample(id)).collect())
    }

    async fn get_user_map(&self, ids: Vec<String>) -> Result<BTreeMap<String, User>, Status> {
        let users = ids.into_iter().map(|id| (id.clone(), User::sample(&id)));
        Ok(users.collect())
    }

    async fn hello(&self, s: String) -> Result<String, Status> {
        if !self.work.is_zero() {
            sleep(self.work).await;
        }
        self.greeted.fetch_add(1, Ordering::Relaxed);
        Ok(format!("hello {s}{}", self.suffix))
    }

    async fn nothing(&self, _: String) -> Result<Option<User>, Status> {
        Ok(None)
    }

    async fn fire(&self, _: String) -> Result<(), Status> {
        Ok(())
    }

    async fn mix(&self, name: String, age: i32, base: Option<User>) -> Result<User, Status> {
        Ok(User {
            name: Some(name),
            age,
            ..base.unwrap_or_default()
        })
    }

    async fn big(&self, _: Vec<u8>, size: i32) -> Result<Vec<u8>, Status> {
        let size =
            usize::try_from(size).map_err(|_| Status::invalid_argument("size is negative"))?;
        Ok(pattern(size))
    }

    async fn sleep(&self, context: CallContext, millis: i64) -> Result<String, Status> {
        let held = Held::new(context.attachments(), "sleep");
        sleep(Time::from_millis(millis.try_into().unwrap_or(0))).await;
        held.done();
        Ok("slept".to_owned())
    }

    async fn attachments(
        &self,
        context: CallContext,
        key: String,
    ) -> Result<BTreeMap<String, Value>, Status> {
        context.reply().trailer(key.clone(), format!("reply-{key}"));
        let mut seen: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (name, value) in headers::pairs(context.attachments()) {
            seen.entry(name).or_default().push(value);
        }
        let joined = seen
            .into_iter()
            .map(|(name, values)| (name, values.join(",").into()));
        Ok(joined.collect())
    }

    async fn remote(&self, context: CallContext) -> Result<String, Status> {
        let address = context.remote_address().map(|address| address.to_string());
        Ok(address.unwrap_or_default())
    }

    async fn fail(&self, message: String) -> Result<String, Status> {
        Err(Status::business(message))
    }

    async fn fail_status(&self, code: i32, message: String) -> Result<String, Status> {
        Err(Status::new(Code::from_number(code.unsigned_abs()), message))
    }

    async fn throw_checked(&self, message: String) -> Result<String, Status> {
        let fields = UserException {
            code: 42,
            detail: "d".to_owned(),
        };
        Err(java::exception_with(&message, &fields))
    }

    async fn throw_runtime(&self, message: String) -> Result<String, Status> {
        let thrown = Throwable::new("java.lang.IllegalStateException", message);
        Err(java::exception(thrown))
    }

    async fn throw_undeclared(&self, message: String) -> Result<String, Status> {
        let thrown = Throwable::new("org.apache.dubbo.interop.UserRuntimeException", message);
        let cause = Throwable::illegal_argument("inner");
        Err(java::exception(thrown.with_cause(cause)))
    }

    async fn throw_rpc(&self, code: i32, message: String) -> Result<String, Status> {
        let thrown = Throwable::new("org.apache.dubbo.rpc.RpcException", message);
        Err(java::exception(thrown.with_field("code", code)))
    }

    async fn throw_null_message(&self) -> Result<String, Status> {
        let thrown = Throwable::new("java.lang.IllegalStateException", "");
        Err(java::exception(thrown))
    }

    async fn oneway(&self, _: String) -> Result<(), Status> {
        self.oneways.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    async fn oneway_count(&self) -> Result<i32, Status> {
        Ok(self.oneways.load(Ordering::Relaxed))
    }

    async fn no_args(&self) -> Result<String, Status> {
        Ok("no-args".to_owned())
    }

    async fn return_null(&self) -> Result<Option<String>, Status> {
        Ok(None)
    }

    async fn return_null_user(&self) -> Result<Option<User>, Status> {
        Ok(None)
    }

    async fn do_void(&self, _: String) -> Result<(), Status> {
        Ok(())
    }

    async fn big_string(&self, chars: i32) -> Result<String, Status> {
        let chars =
            usize::try_from(chars).map_err(|_| Status::invalid_argument("chars is negative"))?;
        Ok("x".repeat(chars))
    }

    async fn three(&self, a: Option<String>, b: i32, c: Option<User>) -> Result<String, Status> {
        let text = |text: Option<String>| text.unwrap_or_else(|| "null".to_owned());
        Ok(format!(
            "{}|{b}|{}",
            text(a),
            text(c.and_then(|user| user.id))
        ))
    }

    async fn overload(&self, a: String) -> Result<String, Status> {
        Ok(format!("S:{a}"))
    }

    async fn overload_int(&self, a: i32) -> Result<String, Status> {
        Ok(format!("I:{a}"))
    }

    async fn overload_both(&self, a: String, b: i32) -> Result<String, Status> {
        Ok(format!("SI:{a}:{b}"))
    }

    async fn say_async(&self, s: String) -> Result<String, Status> {
        sleep(Time::from_millis(20)).await;
        Ok(format!("async {s}"))
    }

    async fn echo(&self, v: Value) -> Result<Value, Status> {
        Ok(v)
    }

    async fn echo_user(&self, v: Option<Shared<User>>) -> Result<Option<Shared<User>>, Status> {
        Ok(v)
    }

    async fn echo_bag(&self, v: Bag) -> Result<Bag, Status> {
        Ok(v)
    }

    async fn decimal(&self, v: BigDecimal) -> Result<BigDecimal, Status> {
        Ok(v)
    }

    async fn integer(&self, v: BigInteger) -> Result<BigInteger, Status> {
        Ok(v)
    }

    async fn ping(&self, v: Vec<u8>) -> Result<Vec<u8>, Status> {
        Ok(v)
    }

    async fn echo_user_array(&self, v: Box<[Option<User>]>) -> Result<Box<[Option<User>]>, Status> {
        Ok(v)
    }

    async fn echo_enum(&self, v: Option<Gender>) -> Result<Option<Gender>, Status> {
        Ok(v)
    }

    async fn echo_node(&self, v: Shared<Node>) -> Result<Shared<Node>, Status> {
        Ok(v)
    }

    async fn echo_child(&self, v: Child) -> Result<Child, Status> {
        Ok(v)
    }

    async fn echo_result(&self, v: Outcome<User>) -> Result<Outcome<User>, Status> {
        Ok(v)
    }

    async fn echo_long_result(&self, v: Outcome<i64>) -> Result<Outcome<i64>, Status> {
        Ok(v)
    }

    async fn echo_bool(&self, v: bool) -> Result<bool, Status> {
        Ok(v)
    }

    async fn echo_byte(&self, v: i8) -> Result<i8, Status> {
        Ok(v)
    }

    async fn echo_short(&self, v: i16) -> Result<i16, Status> {
        Ok(v)
    }

    async fn echo_char(&self, v: char) -> Result<char, Status> {
        Ok(v)
    }

    async fn echo_int(&self, v: i32) -> Result<i32, Status> {
        Ok(v)
    }

    async fn echo_long(&self, v: i64) -> Result<i64, Status> {
        Ok(v)
    }

    async fn echo_float(&self, v: f32) -> Result<f32, Status> {
        Ok(v)
    }

    async fn echo_double(&self, v: f64) -> Result<f64, Status> {
        Ok(v)
    }

    async fn echo_integer(&self, v: Option<i32>) -> Result<Option<i32>, Status> {
        Ok(v)
    }

    async fn echo_boxed_long(&self, v: Option<i64>) -> Result<Option<i64>, Status> {
        Ok(v)
    }

    async fn echo_string(&self, v: Option<String>) -> Result<Option<String>, Status> {
        Ok(v)
    }

    async fn echo_bytes(&self, v: Option<Vec<u8>>) -> Result<Option<Vec<u8>>, Status> {
        Ok(v)
    }

    async fn echo_date(&self, v: Option<Date>) -> Result<Option<Date>, Status> {
        Ok(v)
    }

    async fn echo_big_decimal(&self, v: BigDecimal) -> Result<BigDecimal, Status> {
        Ok(v)
    }

    async fn echo_big_integer(&self, v: BigInteger) -> Result<BigInteger, Status> {
        Ok(v)
    }

    async fn echo_local_date(&self, v: LocalDate) -> Result<LocalDate, Status> {
        Ok(v)
    }

    async fn echo_local_time(&self, v: LocalTime) -> Result<LocalTime, Status> {
        Ok(v)
    }

    async fn echo_local_date_time(&self, v: LocalDateTime) -> Result<LocalDateTime, Status> {
        Ok(v)
    }

    async fn echo_instant(&self, v: Instant) -> Result<Instant, Status> {
        Ok(v)
    }

    async fn echo_duration(&self, v: Duration) -> Result<Duration, Status> {
        Ok(v)
    }

    async fn echo_zoned_date_time(&self, v: ZonedDateTime) -> Result<ZonedDateTime, Status> {
        Ok(v)
    }

    async fn echo_uuid(&self, v: Uuid) -> Result<Uuid, Status> {
        Ok(v)
    }

    async fn echo_list(&self, v: Vec<Value>) -> Result<Vec<Value>, Status> {
        Ok(v)
    }

    async fn echo_string_list(&self, v: Vec<String>) -> Result<Vec<String>, Status> {
        Ok(v)
    }

    async fn echo_map(&self, v: Value) -> Result<Value, Status> {
        Ok(v)
    }

    async fn echo_string_map(
        &self,
        v: BTreeMap<String, String>,
    ) -> Result<BTreeMap<String, String>, Status> {
        Ok(v)
    }

    async fn echo_set(&self, v: BTreeSet<String>) -> Result<BTreeSet<String>, Status> {
        Ok(v)
    }

    async fn echo_bool_array(&self, v: Box<[bool]>) -> Result<Box<[bool]>, Status> {
        Ok(v)
    }

    async fn echo_short_array(&self, v: Box<[i16]>) -> Result<Box<[i16]>, Status> {
        Ok(v)
    }

    async fn echo_char_array(&self, v: String) -> Result<String, Status> {
        Ok(v)
    }

    async fn echo_int_array(&self, v: Box<[i32]>) -> Result<Box<[i32]>, Status> {
        Ok(v)
    }

    async fn echo_long_array(&self, v: Box<[i64]>) -> Result<Box<[i64]>, Status> {
        Ok(v)
    }

    async fn echo_float_array(&self, v: Box<[f32]>) -> Result<Box<[f32]>, Status> {
        Ok(v)
    }

    async fn echo_double_array(&self, v: Box<[f64]>) -> Result<Box<[f64]>, Status> {
        Ok(v)
    }

    async fn echo_string_array(
        &self,
        v: Box<[Option<String>]>,
    ) -> Result<Box<[Option<String>]>, Status> {
        Ok(v)
    }

    async fn echo_object_array(&self, v: Box<[Value]>) -> Result<Box<[Value]>, Status> {
        Ok(v)
    }

    async fn echo_int_matrix(&self, v: Box<[Box<[i32]>]>) -> Result<Box<[Box<[i32]>]>, Status> {
        Ok(v)
    }
}
