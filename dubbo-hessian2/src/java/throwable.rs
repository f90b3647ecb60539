//! `java.lang.Throwable` and what extends it.

use std::{borrow::Cow, collections::HashMap, error::Error, fmt, iter::successors, sync::Arc};

use super::{StackFrame, object::field};
use crate::{
    Class, DecodeError, Decoder, EncodeError, Encoder, FromHessian, JavaType, Kind, List,
    MAX_DEPTH, ToHessian, Value,
};

/// An exception of any class: its message, cause, stack and whatever fields its class adds. Cheap to clone.
///
/// `Display` is Java's `toString`, `class: message`, and [`source`](Error::source) leads to the cause. It is written
/// with all four fields of `Throwable`, in the order and form of Java 17, because dubbo-go wants all of them and old
/// JDKs want a stack (`docs/spec/hessian2.md` §8).
///
/// Choose a class that the peer is sure to have: a Java consumer takes the object of a class that it lacks or does not
/// allow for a broken answer. `java.lang.Throwable` itself is not allowed by default; `java.lang.RuntimeException` is.
///
/// ```
/// use dubbo_hessian2::{Value, from_slice, java::Throwable, to_vec};
///
/// let thrown = Throwable::new("com.x.NoSuchUser", "7").with_field("id", 7);
/// let caught: Throwable = from_slice(&to_vec(&thrown)?)?;
/// assert_eq!(caught.to_string(), "com.x.NoSuchUser: 7");
/// assert_eq!(caught.get("id").and_then(Value::as_i64), Some(7));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Throwable(Arc<Inner>);

#[derive(Clone)]
struct Inner {
    /// The fields of `Throwable`, then the further ones.
    class: Class,
    message: Option<Arc<str>>,
    cause: Option<Throwable>,
    stack_trace: Arc<[StackFrame]>,
    suppressed: Arc<[Throwable]>,
    /// The values of the further fields.
    further: Vec<Value>,
    #[expect(
        dead_code,
        reason = "keeps alive what the further fields refer back to"
    )]
    origin: Option<Value>,
}

impl Throwable {
    /// An exception of `class` (a binary name) with an empty stack.
    pub fn new(class: &str, message: impl Into<Arc<str>>) -> Self {
        Self(Arc::new(Inner {
            class: Class::new(class, FIELDS),
            message: Some(message.into()),
            cause: None,
            stack_trace: Arc::new([]),
            suppressed: Arc::new([]),
            further: Vec::new(),
            origin: None,
        }))
    }

    /// `java.lang.RuntimeException`, which every Java peer has and allows.
    pub fn runtime(message: impl Into<Arc<str>>) -> Self {
        Self::new(RUNTIME_EXCEPTION, message)
    }

    /// `java.lang.IllegalArgumentException`.
    pub fn illegal_argument(message: impl Into<Arc<str>>) -> Self {
        Self::new("java.lang.IllegalArgumentException", message)
    }

    /// `org.apache.dubbo.rpc.RpcException` with one of its codes (`docs/spec/dubbo-protocol.md` §14.1).
    pub fn rpc(code: i32, message: impl Into<Arc<str>>) -> Self {
        Self::new(RPC_EXCEPTION, message).with_field("code", code)
    }

    /// `org.apache.dubbo.rpc.service.GenericException`: an exception of `class` towards a caller that lacks it.
    pub fn generic(class: &str, message: impl Into<Arc<str>>) -> Self {
        let message = message.into();
        Self::new(GENERIC_EXCEPTIONS[0], message.clone())
            .with_field("exceptionMessage", Value::String(message))
            .with_field("exceptionClass", class)
    }

    /// A `java.lang.RuntimeException` with the text of `error`, caused by one for each source.
    pub fn from_error(error: &(dyn Error + 'static)) -> Self {
        let mut chain = vec![error];
        let mut next = error.source();
        while let Some(source) = next
            && chain.len() < MAX_CAUSES
        {
            chain.push(source);
            next = source.source();
        }
        let this = |error: &&(dyn Error + 'static)| match error.downcast_ref::<Self>() {
            Some(throwable) => throwable.clone(),
            None => Self::runtime(error.to_string()),
        };
        let innermost = chain.iter().position(|error| error.is::<Self>());
        chain.truncate(innermost.map_or(chain.len(), |at| at + 1));
        chain
            .iter()
            .rev()
            .map(this)
            .reduce(|cause, throwable| throwable.with_cause(cause))
            .unwrap_or_else(|| Self::runtime(error.to_string()))
    }

    /// Sets what led to this.
    #[must_use]
    pub fn with_cause(mut self, cause: Self) -> Self {
        Arc::make_mut(&mut self.0).cause = Some(cause);
        self
    }

    /// Sets the stack, the innermost call first.
    #[must_use]
    pub fn with_stack(mut self, frames: impl IntoIterator<Item = StackFrame>) -> Self {
        Arc::make_mut(&mut self.0).stack_trace = frames.into_iter().collect();
        self
    }

    /// Sets what was thrown while this was being handled.
    #[must_use]
    pub fn with_suppressed(mut self, suppressed: impl IntoIterator<Item = Self>) -> Self {
        Arc::make_mut(&mut self.0).suppressed = suppressed.into_iter().collect();
        self
    }

    /// Sets a field that the class adds to those of `Throwable`.
    ///
    /// # Panics
    ///
    /// When `name` is one of the fields of `Throwable` itself, which have methods of their own.
    #[must_use]
    pub fn with_field(mut self, name: &str, value: impl Into<Value>) -> Self {
        assert!(
            !FIELDS.contains(&name),
            "`{name}` is a field of every exception"
        );
        let inner = Arc::make_mut(&mut self.0);
        if let Some(position) = inner.class.position(name) {
            inner.further[position - FIELDS.len()] = value.into();
        } else {
            inner.class.push(name);
            inner.further.push(value.into());
        }
        self
    }

    /// The binary name of the class.
    pub fn class(&self) -> &str {
        self.0.class.name()
    }

    /// What `getMessage()` returns.
    pub fn message(&self) -> Option<&str> {
        self.0.message.as_deref()
    }

    /// What led to this.
    pub fn cause(&self) -> Option<&Self> {
        self.0.cause.as_ref()
    }

    /// The stack, the innermost call first.
    pub fn stack_trace(&self) -> &[StackFrame] {
        &self.0.stack_trace
    }

    /// What was thrown while this was being handled.
    pub fn suppressed(&self) -> &[Self] {
        &self.0.suppressed
    }

    /// A field that the class adds to those of `Throwable`.
    pub fn get(&self, name: &str) -> Option<&Value> {
        let position = self.0.class.position(name)?;
        self.0.further.get(position.checked_sub(FIELDS.len())?)
    }

    /// The `code` of an `RpcException`, or of another class with such a field.
    pub fn code(&self) -> Option<i32> {
        i32::try_from(self.get("code")?.as_i64()?).ok()
    }

    /// Whether this is Dubbo's `GenericException`, of either package.
    pub fn is_generic(&self) -> bool {
        GENERIC_EXCEPTIONS.contains(&self.class())
    }

    /// The class that a `GenericException` stands for.
    pub fn exception_class(&self) -> Option<&str> {
        self.get("exceptionClass")?.as_str()
    }

    /// The message of what a `GenericException` stands for.
    pub fn exception_message(&self) -> Option<&str> {
        self.get("exceptionMessage")?.as_str()
    }

    /// This exception as a Rust type of its class, which takes the fields it knows.
    ///
    /// # Errors
    ///
    /// The class of `T` is another one, or a field has a value that `T` does not take.
    pub fn read<T: FromHessian + JavaType>(&self) -> Result<T, DecodeError> {
        let (class, wanted) = (self.class(), T::java_name());
        if class != wanted {
            let error = format!("the exception is a `{class}`, not a `{wanted}`");
            return Err(DecodeError::custom(error));
        }
        let bytes = crate::to_vec(self).map_err(|error| DecodeError::custom(error.to_string()))?;
        crate::from_slice(&bytes)
    }
}

impl fmt::Display for Throwable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.class())?;
        match self.message() {
            Some(message) => write!(f, ": {message}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Throwable {
    /// Without what is suppressed: exceptions may share much, and all of it would be shown again and again. Causes
    /// without their own fields, and not all of a long chain.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let causes = successors(self.cause(), |cause| cause.0.cause.as_ref())
            .take(MAX_CAUSES)
            .map(ToString::to_string);
        f.debug_struct("Throwable")
            .field("class", &self.class())
            .field("message", &self.message())
            .field("causes", &causes.collect::<Vec<_>>())
            .field("stack_trace", &self.stack_trace().len())
            .field("suppressed", &self.suppressed().len())
            .finish_non_exhaustive()
    }
}

impl Error for Throwable {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause().map(|cause| cause as _)
    }
}

/// Dropping without recursion: a chain of causes can be as long as a program likes.
impl Drop for Inner {
    fn drop(&mut self) {
        let mut waiting = Vec::new();
        self.release(&mut waiting);
        while let Some(Throwable(inner)) = waiting.pop() {
            if let Some(mut inner) = Arc::into_inner(inner) {
                inner.release(&mut waiting);
            }
        }
    }
}

impl Inner {
    /// Hands over the exceptions that nothing else may keep.
    fn release(&mut self, waiting: &mut Vec<Throwable>) {
        waiting.extend(self.cause.take());
        if Arc::strong_count(&self.suppressed) == 1 {
            waiting.extend_from_slice(&self.suppressed);
            self.suppressed = Arc::new([]);
        }
    }
}

impl ToHessian for Throwable {
    fn encode(&self, encoder: &mut Encoder) -> Result<(), EncodeError> {
        let this = &*self.0;
        if encoder.reference(address(&self.0)) {
            return Ok(());
        }
        encoder.keep(self.0.clone());
        encoder.enter()?;
        encoder.begin_class(&this.class);
        if this.suppressed.is_empty() {
            // Java has one empty list for all exceptions.
            if !encoder.reference(std::ptr::from_ref(&NONE_SUPPRESSED).addr()) {
                encoder.items::<Self>(Some(NONE_SUPPRESSED), &[])?;
            }
        } else if !encoder.reference(address(&this.suppressed)) {
            encoder.items(None, &this.suppressed)?;
        }
        if !encoder.reference(address(&this.stack_trace)) {
            encoder.items(Some("[java.lang.StackTraceElement"), &this.stack_trace)?;
        }
        match &this.cause {
            Some(cause) => cause.encode(encoder)?,
            // An exception that is its own cause has none: Java means "not set yet" by it.
            None => {
                encoder.reference(address(&self.0));
            }
        }
        this.message.encode(encoder)?;
        for value in &this.further {
            value.encode(encoder)?;
        }
        encoder.leave();
        Ok(())
    }
}

impl FromHessian for Throwable {
    /// Reads an object of any class with the fields of an exception, or the map of a generic call.
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        Reader::default().throwable(&decoder.value()?)
    }
}

impl JavaType for Throwable {
    fn java_name() -> Cow<'static, str> {
        "java.lang.Throwable".into()
    }
}

/// Turns values into exceptions, each shared one once: a message of a few bytes can refer to one in a million ways.
#[derive(Default)]
struct Reader {
    /// How many exceptions are being read, one inside the other.
    depth: usize,
    throwables: HashMap<usize, Throwable>,
    stacks: HashMap<usize, Arc<[StackFrame]>>,
    suppressed: HashMap<usize, Arc<[Throwable]>>,
}

impl Reader {
    fn throwable(&mut self, value: &Value) -> Result<Throwable, DecodeError> {
        let address = match value {
            Value::Object(object) => address(object),
            Value::Map(map) => address(map),
            other => {
                let kind = other.kind();
                return Err(DecodeError::custom(format!(
                    "an exception is an object, this is {kind}"
                )));
            }
        };
        if let Some(known) = self.throwables.get(&address) {
            return Ok(known.clone());
        }
        let class = match value {
            Value::Object(object) => object.class(),
            _ => field(value, "class")
                .and_then(Value::as_str)
                .unwrap_or_default(),
        };
        let Some(message) = field(value, "detailMessage").or_else(|| field(value, "message"))
        else {
            let error = format!("{class:?} is no exception: it has no field `detailMessage`");
            return Err(DecodeError::custom(error));
        };
        // By references, a chain can be as long as a message.
        if self.depth == MAX_DEPTH {
            return Err(DecodeError::custom(format!(
                "more than {MAX_DEPTH} exceptions that led to each other"
            )));
        }
        self.depth += 1;
        let (names, further) = further(value);
        let throwable = Throwable(Arc::new(Inner {
            class: Class::new(class, FIELDS.into_iter().chain(names)),
            message: match message {
                Value::String(text) => Some(text.clone()),
                _ => None,
            },
            cause: match field(value, "cause") {
                Some(cause @ (Value::Object(_) | Value::Map(_))) => Some(self.throwable(cause)?),
                // Null, or a reference back: to itself when there is none, or into a circle, which is cut here.
                _ => None,
            },
            stack_trace: match field(value, "stackTrace") {
                Some(Value::List(frames)) => self.stack(frames),
                _ => Arc::new([]),
            },
            suppressed: match field(value, "suppressedExceptions")
                .or_else(|| field(value, "suppressed"))
            {
                Some(Value::List(suppressed)) => self.suppressed(suppressed)?,
                _ => Arc::new([]),
            },
            origin: further.iter().any(is_container).then(|| value.clone()),
            further,
        }));
        self.depth -= 1;
        self.throwables.insert(address, throwable.clone());
        Ok(throwable)
    }

    fn stack(&mut self, frames: &Arc<List>) -> Arc<[StackFrame]> {
        let known = self.stacks.entry(address(frames));
        known
            .or_insert_with(|| frames.items().iter().map(StackFrame::from_value).collect())
            .clone()
    }

    fn suppressed(&mut self, list: &Arc<List>) -> Result<Arc<[Throwable]>, DecodeError> {
        if let Some(known) = self.suppressed.get(&address(list)) {
            return Ok(known.clone());
        }
        let suppressed: Arc<[Throwable]> = list
            .items()
            .iter()
            .filter(|value| matches!(value, Value::Object(_) | Value::Map(_)))
            .map(|value| self.throwable(value))
            .collect::<Result<_, _>>()?;
        self.suppressed.insert(address(list), suppressed.clone());
        Ok(suppressed)
    }
}

/// The fields that are not `Throwable`'s own, by either name, nor Go's mark of a version.
fn further(value: &Value) -> (Vec<&str>, Vec<Value>) {
    let fields: Vec<(&str, &Value)> = match value {
        Value::Object(object) => object.fields().collect(),
        Value::Map(map) => map
            .entries()
            .iter()
            .filter_map(|(key, value)| Some((key.as_str()?, value)))
            .filter(|(name, _)| !GENERIC_FIELDS.contains(name))
            .collect(),
        _ => Vec::new(),
    };
    fields
        .into_iter()
        .filter(|(name, _)| !FIELDS.contains(name) && *name != "serialVersionUID")
        .map(|(name, value)| (name, value.clone()))
        .unzip()
}

fn is_container(value: &Value) -> bool {
    matches!(value.kind(), Kind::List | Kind::Map | Kind::Object)
}

/// What tells shared things apart while they live.
fn address<T: ?Sized>(shared: &Arc<T>) -> usize {
    Arc::as_ptr(shared).addr()
}

/// What every exception has, in the order of Java 17.
const FIELDS: [&str; 4] = [
    "suppressedExceptions",
    "stackTrace",
    "cause",
    "detailMessage",
];
/// What a generic call names otherwise, or adds.
const GENERIC_FIELDS: [&str; 4] = ["class", "message", "localizedMessage", "suppressed"];
static NONE_SUPPRESSED: &str = "java.util.Collections$EmptyList";
const RUNTIME_EXCEPTION: &str = "java.lang.RuntimeException";
const RPC_EXCEPTION: &str = "org.apache.dubbo.rpc.RpcException";
const GENERIC_EXCEPTIONS: [&str; 2] = [
    "org.apache.dubbo.rpc.service.GenericException",
    "com.alibaba.dubbo.rpc.service.GenericException",
];
/// A chain of errors that is longer is cut: it would not be read on the other side either.
const MAX_CAUSES: usize = 32;

#[cfg(test)]
mod tests {
    use super::Throwable;
    use crate::{from_slice, to_vec};

    #[test]
    fn a_long_chain_is_dropped_and_printed_without_recursion() {
        type Link = fn(Throwable, Throwable) -> Throwable;
        let links: [Link; 3] = [
            Throwable::with_cause,
            |outer, inner| outer.with_suppressed([inner]),
            |outer, inner| outer.with_suppressed([inner.clone()]).with_cause(inner),
        ];
        for link in links {
            let chain = (0..200_000).fold(Throwable::new("A", "innermost"), |inner, _| {
                link(Throwable::new("A", ""), inner)
            });
            assert!(format!("{chain:?}").len() < 10_000);
            to_vec(&chain).expect_err("too deep to be written");
            let kept = chain.clone();
            drop(chain);
            assert_eq!(kept.class(), "A");
        }
    }

    #[test]
    fn a_long_chain_of_references_is_refused() {
        // Exceptions in a list, each caused by the one before it: nothing nests but by references.
        let message = |count: i32| {
            let mut bytes = b"C\x01A\x93\x01m\x05cause\x0ddetailMessage\x60W".to_vec();
            for index in 0..count {
                let before = to_vec(&(index + 1)).expect("encodes");
                bytes.extend(if index == 0 {
                    b"\x60NNN".to_vec()
                } else {
                    [b"\x60NQ", &before[..], b"N"].concat()
                });
            }
            let last = to_vec(&(count + 1)).expect("encodes");
            [&bytes[..], b"ZQ", &last, b"N"].concat()
        };
        let read = from_slice::<Throwable>(&message(100)).expect("a short one");
        assert!(read.cause().and_then(Throwable::cause).is_some());
        let error = from_slice::<Throwable>(&message(100_000)).expect_err("a long one");
        assert!(error.to_string().contains("more than 512"), "{error}");
    }
}
