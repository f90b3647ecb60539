//! The contract without protobuf, `org.apache.dubbo.interop.UserService`, as Java declares it.

#![expect(missing_docs, reason = "UserService.java describes the methods")]

mod beans;
mod provider;
mod streams;

use std::collections::{BTreeMap, BTreeSet};

use dubbo::{
    CallContext, Status,
    hessian2::{
        Shared, Value,
        java::{
            BigDecimal, BigInteger, Date, Duration, Instant, LocalDate, LocalDateTime, LocalTime,
            Uuid, ZonedDateTime,
        },
    },
    service,
};

pub use self::{
    beans::{Address, Bag, Child, Gender, Node, Outcome, User},
    provider::Users,
    streams::{UserStreamService, UserStreamServiceClient, UserStreamServiceServer, UserStreams},
};

/// The methods are described in `UserService.java`.
#[service(interface = "org.apache.dubbo.interop.UserService")]
pub trait UserService {
    async fn get_user(&self, id: String) -> Result<User, Status>;
    async fn get_users(&self, ids: Vec<String>) -> Result<Vec<User>, Status>;
    async fn get_user_map(&self, ids: Vec<String>) -> Result<BTreeMap<String, User>, Status>;
    async fn echo(&self, v: Value) -> Result<Value, Status>;
    async fn echo_user(&self, v: Option<Shared<User>>) -> Result<Option<Shared<User>>, Status>;
    async fn echo_bag(&self, v: Bag) -> Result<Bag, Status>;
    async fn hello(&self, s: String) -> Result<String, Status>;
    async fn nothing(&self, id: String) -> Result<Option<User>, Status>;
    async fn fire(&self, s: String) -> Result<(), Status>;
    async fn mix(&self, name: String, age: i32, base: Option<User>) -> Result<User, Status>;
    async fn decimal(&self, v: BigDecimal) -> Result<BigDecimal, Status>;
    async fn integer(&self, v: BigInteger) -> Result<BigInteger, Status>;
    async fn ping(&self, v: Vec<u8>) -> Result<Vec<u8>, Status>;
    async fn big(&self, input: Vec<u8>, size: i32) -> Result<Vec<u8>, Status>;
    async fn sleep(&self, context: CallContext, millis: i64) -> Result<String, Status>;
    async fn attachments(
        &self,
        context: CallContext,
        key: String,
    ) -> Result<BTreeMap<String, Value>, Status>;
    async fn remote(&self, context: CallContext) -> Result<String, Status>;
    async fn fail(&self, message: String) -> Result<String, Status>;
    async fn fail_status(&self, code: i32, message: String) -> Result<String, Status>;
    async fn throw_checked(&self, message: String) -> Result<String, Status>;
    async fn throw_runtime(&self, message: String) -> Result<String, Status>;
    async fn throw_undeclared(&self, message: String) -> Result<String, Status>;
    async fn throw_rpc(&self, code: i32, message: String) -> Result<String, Status>;
    async fn throw_null_message(&self) -> Result<String, Status>;
    #[dubbo(oneway)]
    async fn oneway(&self, s: String) -> Result<(), Status>;
    async fn oneway_count(&self) -> Result<i32, Status>;
    async fn no_args(&self) -> Result<String, Status>;
    async fn return_null(&self) -> Result<Option<String>, Status>;
    async fn return_null_user(&self) -> Result<Option<User>, Status>;
    async fn do_void(&self, s: String) -> Result<(), Status>;
    async fn big_string(&self, chars: i32) -> Result<String, Status>;
    async fn three(&self, a: Option<String>, b: i32, c: Option<User>) -> Result<String, Status>;
    async fn overload(&self, a: String) -> Result<String, Status>;
    #[dubbo(name = "overload")]
    async fn overload_int(&self, a: i32) -> Result<String, Status>;
    #[dubbo(name = "overload")]
    async fn overload_both(&self, a: String, b: i32) -> Result<String, Status>;
    #[dubbo(returns = "java.util.concurrent.CompletableFuture")]
    async fn say_async(&self, s: String) -> Result<String, Status>;
    async fn echo_user_array(&self, v: Box<[Option<User>]>) -> Result<Box<[Option<User>]>, Status>;
    async fn echo_enum(&self, v: Option<Gender>) -> Result<Option<Gender>, Status>;
    async fn echo_node(&self, v: Shared<Node>) -> Result<Shared<Node>, Status>;
    async fn echo_child(&self, v: Child) -> Result<Child, Status>;
    async fn echo_result(&self, v: Outcome<User>) -> Result<Outcome<User>, Status>;
    async fn echo_long_result(&self, v: Outcome<i64>) -> Result<Outcome<i64>, Status>;
    async fn echo_bool(&self, v: bool) -> Result<bool, Status>;
    async fn echo_byte(&self, v: i8) -> Result<i8, Status>;
    async fn echo_short(&self, v: i16) -> Result<i16, Status>;
    async fn echo_char(&self, v: char) -> Result<char, Status>;
    async fn echo_int(&self, v: i32) -> Result<i32, Status>;
    async fn echo_long(&self, v: i64) -> Result<i64, Status>;
    async fn echo_float(&self, v: f32) -> Result<f32, Status>;
    async fn echo_double(&self, v: f64) -> Result<f64, Status>;
    async fn echo_integer(&self, v: Option<i32>) -> Result<Option<i32>, Status>;
    async fn echo_boxed_long(&self, v: Option<i64>) -> Result<Option<i64>, Status>;
    async fn echo_string(&self, v: Option<String>) -> Result<Option<String>, Status>;
    async fn echo_bytes(&self, v: Option<Vec<u8>>) -> Result<Option<Vec<u8>>, Status>;
    async fn echo_date(&self, v: Option<Date>) -> Result<Option<Date>, Status>;
    async fn echo_big_decimal(&self, v: BigDecimal) -> Result<BigDecimal, Status>;
    async fn echo_big_integer(&self, v: BigInteger) -> Result<BigInteger, Status>;
    async fn echo_local_date(&self, v: LocalDate) -> Result<LocalDate, Status>;
    async fn echo_local_time(&self, v: LocalTime) -> Result<LocalTime, Status>;
    async fn echo_local_date_time(&self, v: LocalDateTime) -> Result<LocalDateTime, Status>;
    async fn echo_instant(&self, v: Instant) -> Result<Instant, Status>;
    async fn echo_duration(&self, v: Duration) -> Result<Duration, Status>;
    async fn echo_zoned_date_time(&self, v: ZonedDateTime) -> Result<ZonedDateTime, Status>;
    async fn echo_uuid(&self, v: Uuid) -> Result<Uuid, Status>;
    async fn echo_list(&self, v: Vec<Value>) -> Result<Vec<Value>, Status>;
    async fn echo_string_list(&self, v: Vec<String>) -> Result<Vec<String>, Status>;
    #[dubbo(types = ["java.util.Map"], returns = "java.util.Map")]
    async fn echo_map(&self, v: Value) -> Result<Value, Status>;
    async fn echo_string_map(
        &self,
        v: BTreeMap<String, String>,
    ) -> Result<BTreeMap<String, String>, Status>;
    async fn echo_set(&self, v: BTreeSet<String>) -> Result<BTreeSet<String>, Status>;
    async fn echo_bool_array(&self, v: Box<[bool]>) -> Result<Box<[bool]>, Status>;
    async fn echo_short_array(&self, v: Box<[i16]>) -> Result<Box<[i16]>, Status>;
    #[dubbo(types = ["[C"], returns = "[C")]
    async fn echo_char_array(&self, v: String) -> Result<String, Status>;
    async fn echo_int_array(&self, v: Box<[i32]>) -> Result<Box<[i32]>, Status>;
    async fn echo_long_array(&self, v: Box<[i64]>) -> Result<Box<[i64]>, Status>;
    async fn echo_float_array(&self, v: Box<[f32]>) -> Result<Box<[f32]>, Status>;
    async fn echo_double_array(&self, v: Box<[f64]>) -> Result<Box<[f64]>, Status>;
    async fn echo_string_array(
        &self,
        v: Box<[Option<String>]>,
    ) -> Result<Box<[Option<String>]>, Status>;
    async fn echo_object_array(&self, v: Box<[Value]>) -> Result<Box<[Value]>, Status>;
    async fn echo_int_matrix(&self, v: Box<[Box<[i32]>]>) -> Result<Box<[Box<[i32]>]>, Status>;
}

/// The interface's name in Java.
pub const USER_SERVICE: &str = "org.apache.dubbo.interop.UserService";
