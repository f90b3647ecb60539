//! The arguments of a call.

use std::{
    any::{Any, type_name},
    borrow::Cow,
    error::Error,
    fmt,
    sync::Arc,
};

use bytes::{Bytes, BytesMut};
use dubbo_core::payload::{Adapter, Codec, CodecError, FromPayload, Message, Rules};
use dubbo_hessian2::{
    DecodeError, DecodeOptions, Decoder, EncodeError, Encoder, FromHessian, JavaType, ToHessian,
};

use super::{
    describe::Declared,
    generic,
    message::{append, from_typed, only_hessian, options},
    text,
};

/// The arguments of a call: a tuple of up to sixteen values.
///
/// Encoded they stand one after the other in one stream, so that a value that occurs in several of them is written once.
pub struct Args<T>(T);

impl<T: Arguments> Message for Args<T> {
    fn encode(&self, codec: Codec, dst: &mut BytesMut) -> Result<(), CodecError> {
        append::<T>(codec, dst, |encoder| {
            (0..T::COUNT).try_for_each(|index| self.0.write(index, encoder))
        })
    }

    fn values(&self) -> usize {
        T::COUNT
    }

    fn encode_value(
        &self,
        index: usize,
        codec: Codec,
        dst: &mut BytesMut,
    ) -> Result<(), CodecError> {
        append::<T>(codec, dst, |encoder| self.0.write(index, encoder))
    }

    /// A generic call shows the arguments of the method that it asks for.
    fn text(&self, index: usize) -> Option<Cow<'_, str>> {
        match generic::asked(&self.0) {
            Some((_, arguments)) => text::of(arguments.get(index)?.value()),
            None => text::of(self.0.get(index)?),
        }
    }

    fn asked(&self) -> Option<(&str, usize)> {
        let (method, arguments) = generic::asked(&self.0)?;
        Some((method, arguments.len()))
    }
}

impl<T: Arguments> FromPayload for Args<T> {
    /// Bytes behind the last argument are nobody's.
    fn decode(codec: Codec, src: Bytes, rules: &Rules) -> Result<Self, CodecError> {
        only_hessian::<T>(codec)?;
        let mut decoder = Decoder::with_options(&src, options(rules));
        T::read(&mut Reader::Together(&mut decoder))
            .map(Self)
            .map_err(|error| CodecError::decode::<T>(codec, error))
    }

    fn decode_values(codec: Codec, values: &[Bytes], rules: &Rules) -> Result<Self, CodecError> {
        only_hessian::<T>(codec)?;
        if values.len() != T::COUNT {
            let (wanted, got) = (T::COUNT, values.len());
            let text = format!("the number of arguments is {wanted}, and {got} came");
            return Err(CodecError::decode::<T>(codec, text));
        }
        T::read(&mut Reader::Apart(values, options(rules)))
            .map(Self)
            .map_err(|error| CodecError::decode::<T>(codec, error))
    }

    fn from_typed(message: Arc<dyn Message>) -> Result<Self, CodecError> {
        from_typed(message)
    }
}

impl<T: Arguments> Adapter for Args<T> {
    type Message = T;

    fn wrap(message: T) -> Self {
        Self(message)
    }

    fn unwrap(self) -> T {
        self.0
    }
}

impl<T: Arguments> fmt::Debug for Args<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.debug(f)
    }
}

/// What an argument or a result of a Java interface can be. Every type with these properties is one.
pub trait JavaValue:
    ToHessian + FromHessian + JavaType + fmt::Debug + Send + Sync + 'static
{
}

impl<T> JavaValue for T where
    T: ToHessian + FromHessian + JavaType + fmt::Debug + Send + Sync + 'static
{
}

/// A tuple of up to sixteen [values](JavaValue): the arguments of a call.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the arguments of a call",
    note = "the arguments are a tuple, such as `(String,)`, of up to 16 values that implement `ToHessian`, `FromHessian`, `JavaType`, `Debug`, `Send` and `Sync`"
)]
pub trait Arguments: Send + Sync + Sized + 'static {
    /// How many there are.
    const COUNT: usize;

    /// Their Java types.
    fn types() -> Vec<Declared>;

    /// Tuples of more than twelve have no `Debug` of their own.
    #[doc(hidden)]
    fn debug(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result;

    #[doc(hidden)]
    fn read(reader: &mut Reader<'_, '_>) -> Result<Self, BadArgument>;

    #[doc(hidden)]
    fn write(&self, index: usize, encoder: &mut Encoder) -> Result<(), EncodeError>;

    #[doc(hidden)]
    fn get(&self, index: usize) -> Option<&dyn Any>;
}

/// Where arguments are read from.
#[doc(hidden)]
#[derive(Debug)]
pub enum Reader<'r, 'a> {
    Apart(&'r [Bytes], &'r DecodeOptions),
    Together(&'r mut Decoder<'a>),
}

impl Reader<'_, '_> {
    fn next<T: JavaValue>(&mut self, place: &Place) -> Result<T, BadArgument> {
        let read = match self {
            Self::Apart(values, options) => {
                T::decode(&mut Decoder::with_options(&values[place.index], options)).map_err(Some)
            }
            Self::Together(decoder) if decoder.is_at_end() => Err(None),
            Self::Together(decoder) => T::decode(decoder).map_err(Some),
        };
        read.map_err(|why| BadArgument {
            index: place.index,
            place: place.of::<T>(),
            why,
        })
    }
}

/// An argument that cannot be read.
#[doc(hidden)]
#[derive(Debug)]
pub struct BadArgument {
    pub(super) index: usize,
    place: String,
    /// `None` when it is missing.
    pub(super) why: Option<DecodeError>,
}

impl fmt::Display for BadArgument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = &self.place;
        match &self.why {
            Some(why) => write!(f, "{place}: {why}"),
            None => write!(f, "{place} is missing"),
        }
    }
}

impl Error for BadArgument {}

/// Which of the arguments.
struct Place {
    index: usize,
    count: usize,
}

impl Place {
    fn of<T: JavaType>(&self) -> String {
        let Self { index, count } = self;
        format!("argument {} of {count} (`{}`)", index + 1, T::java_name())
    }
}

macro_rules! tuples {
    ($($count:literal: ($($name:ident $index:tt),*);)*) => {$(
        impl<$($name: JavaValue),*> Arguments for ($($name,)*) {
            const COUNT: usize = $count;

            fn types() -> Vec<Declared> {
                vec![$(Declared::of::<$name>()),*]
            }

            fn debug(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_tuple("")$(.field(&self.$index))*.finish()
            }

            #[allow(unused_variables, reason = "the empty tuple reads nothing")]
            #[allow(clippy::unused_unit, reason = "the empty tuple is one")]
            fn read(reader: &mut Reader<'_, '_>) -> Result<Self, BadArgument> {
                Ok(($(reader.next::<$name>(&Place { index: $index, count: $count })?,)*))
            }

            #[allow(unused_variables, reason = "the empty tuple writes nothing")]
            fn write(&self, index: usize, encoder: &mut Encoder) -> Result<(), EncodeError> {
                match index {
                    $($index => self.$index.encode(encoder).map_err(|error| {
                        let place = Place { index, count: $count };
                        EncodeError::custom(format!("{}: {error}", place.of::<$name>()))
                    }),)*
                    _ => Err(EncodeError::custom(format!(
                        "there is no argument {} in {}",
                        index + 1,
                        type_name::<Self>()
                    ))),
                }
            }

            fn get(&self, index: usize) -> Option<&dyn Any> {
                match index {
                    $($index => Some(&self.$index),)*
                    _ => None,
                }
            }
        }
    )*};
}

tuples! {
    0: ();
    1: (A 0);
    2: (A 0, B 1);
    3: (A 0, B 1, C 2);
    4: (A 0, B 1, C 2, D 3);
    5: (A 0, B 1, C 2, D 3, E 4);
    6: (A 0, B 1, C 2, D 3, E 4, F 5);
    7: (A 0, B 1, C 2, D 3, E 4, F 5, G 6);
    8: (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
    9: (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8);
    10: (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9);
    11: (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10);
    12: (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11);
    13: (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12);
    14: (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12, N 13);
    15: (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12, N 13, O 14);
    16: (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12, N 13, O 14, P 15);
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use dubbo_core::payload::Payload;
    use dubbo_hessian2::Value;

    use super::*;

    type Three = (String, i32, Vec<String>);

    fn three() -> Three {
        ("a".to_owned(), 2, vec!["b".to_owned()])
    }

    fn encoded(values: &[Value]) -> Bytes {
        let mut encoder = Encoder::new();
        for value in values {
            value.encode(&mut encoder).expect("written");
        }
        encoder.into_bytes().into()
    }

    #[test]
    fn arguments_go_together_or_each_by_itself() {
        let args = Payload::typed(Args::wrap(three()));
        let mut together = BytesMut::from(&b"head"[..]);
        args.encode(Codec::Hessian2, &mut together)
            .expect("written");
        assert_eq!(&together[..], b"head\x01a\x92\x79\x01b");
        let apart = args.encode_values(Codec::Hessian2).expect("written");
        assert_eq!(apart, [&b"\x01a"[..], b"\x92", b"\x79\x01b"]);

        let together = Bytes::from(together).slice(4..);
        for payload in [
            Payload::encoded(Codec::Hessian2, together),
            Payload::values(Codec::Hessian2, apart),
            args,
        ] {
            let read = payload.decode::<Args<Three>>().map(Args::unwrap);
            assert_eq!(read.expect("read"), three());
        }
    }

    #[test]
    fn arguments_are_read_as_text_where_they_have_one() {
        let args = Payload::typed(Args::wrap(three()));
        let text = |index| args.text(index);
        assert_eq!(
            [text(0), text(1)].map(|it| it.as_deref().map(str::to_owned)),
            [Some("a".to_owned()), Some("2".to_owned())]
        );
        assert_eq!([text(2), text(3)], [None, None], "a list, and no argument");
        assert_eq!(args.value_bytes(2).as_deref(), Some(&b"\x79\x01b"[..]));
        assert_eq!(args.value_bytes(3), None);
    }

    #[test]
    fn what_two_arguments_share_is_written_once_and_only_within_one_stream() {
        let shared = Value::list(["a".into()]);
        let args = Args::wrap((shared.clone(), shared.clone()));
        let mut together = BytesMut::new();
        args.encode(Codec::Hessian2, &mut together)
            .expect("written");
        assert_eq!(&together[..], b"\x79\x01aQ\x90");
        let mut second = BytesMut::new();
        args.encode_value(1, Codec::Hessian2, &mut second)
            .expect("written");
        assert_eq!(&second[..], b"\x79\x01a");
        let read = Args::<(Value, Value)>::decode(Codec::Hessian2, together.freeze(), &Rules::NONE);
        assert_eq!(read.expect("read").unwrap(), (shared.clone(), shared));
    }

    #[test]
    fn bytes_behind_the_last_argument_are_nobodys() {
        let bytes = encoded(&["a".into(), 2.into(), Value::list(["b".into()]), Value::Null]);
        assert_eq!(
            Args::<Three>::decode(Codec::Hessian2, bytes, &Rules::NONE)
                .expect("read")
                .unwrap(),
            three()
        );
        let none = Args::<()>::decode(Codec::Hessian2, Bytes::from_static(b"\x01a"), &Rules::NONE);
        none.expect("no arguments are wanted");
    }

    #[test]
    fn an_error_names_the_argument_and_its_java_type() {
        let list = || Value::list(["b".into()]);
        for (values, part) in [
            (vec!["a".into()], "argument 2 of 3 (`int`) is missing"),
            (vec![], "argument 1 of 3 (`java.lang.String`) is missing"),
            (
                vec!["a".into(), "b".into(), list()],
                "argument 2 of 3 (`int`): expected",
            ),
            (
                vec!["a".into(), 2.into(), 3.into()],
                "argument 3 of 3 (`java.util.List`): expected",
            ),
        ] {
            let error = Args::<Three>::decode(Codec::Hessian2, encoded(&values), &Rules::NONE)
                .expect_err(part);
            assert!(error.to_string().contains(part), "{error}");
        }
        let cut =
            Args::<Three>::decode(Codec::Hessian2, Bytes::from_static(b"\x05a"), &Rules::NONE);
        let error = cut.expect_err("cut").to_string();
        assert!(
            error.contains("argument 1 of 3 (`java.lang.String`): "),
            "{error}"
        );
    }

    #[test]
    fn a_wrong_number_of_values_is_told_with_the_right_one() {
        for got in [0, 2, 4] {
            let values = vec![Bytes::from_static(b"N"); got];
            let error = Args::<Three>::decode_values(Codec::Hessian2, &values, &Rules::NONE)
                .expect_err("wrong");
            let want = format!("the number of arguments is 3, and {got} came");
            assert!(error.to_string().contains(&want), "{error}");
        }
        Args::<()>::decode_values(Codec::Hessian2, &[], &Rules::NONE).expect("none are wanted");
    }

    #[test]
    fn a_value_that_cannot_be_written_is_told_with_its_place_and_leaves_nothing_behind() {
        let deep = (0..1000).fold(Value::Null, |inner, _| Value::list([inner]));
        let args = Args::wrap(("a".to_owned(), deep));
        let mut dst = BytesMut::from(&b"head"[..]);
        let error = args
            .encode(Codec::Hessian2, &mut dst)
            .expect_err("too deep");
        let part = "argument 2 of 2 (`java.lang.Object`): values nest deeper than";
        assert!(error.to_string().contains(part), "{error}");
        assert_eq!(&dst[..], b"head");
    }

    #[test]
    fn other_codecs_are_refused() {
        for codec in [Codec::Json, Codec::Protobuf] {
            let args = Args::wrap(three());
            let mut dst = BytesMut::new();
            let read =
                || Args::<Three>::decode(codec, Bytes::new(), &Rules::NONE).expect_err("refused");
            let separate =
                Args::<Three>::decode_values(codec, &[], &Rules::NONE).expect_err("refused");
            for error in [
                args.encode(codec, &mut dst).expect_err("refused"),
                read(),
                separate,
            ] {
                assert!(matches!(error, CodecError::Unsupported { codec: c, .. } if c == codec));
            }
        }
    }

    #[test]
    fn a_message_that_never_left_the_process_is_taken_over_without_encoding() {
        /// Hessian has no values like this; an `Arc` shows whether it is the same.
        #[derive(Debug)]
        struct Uncoded(Arc<()>);
        impl ToHessian for Uncoded {
            fn encode(&self, _: &mut Encoder) -> Result<(), EncodeError> {
                Err(EncodeError::custom("never written"))
            }
        }
        impl FromHessian for Uncoded {
            fn decode(_: &mut Decoder<'_>) -> Result<Self, dubbo_hessian2::DecodeError> {
                Err(dubbo_hessian2::DecodeError::custom("never read"))
            }
        }
        impl JavaType for Uncoded {
            fn java_name() -> Cow<'static, str> {
                "x.Uncoded".into()
            }
        }
        let mark = Arc::new(());
        let payload = Payload::typed(Args::wrap((Uncoded(Arc::clone(&mark)),)));
        let kept = payload.clone();
        let error = payload
            .decode::<Args<(Uncoded,)>>()
            .expect_err("two hold it");
        assert!(error.to_string().contains("never written"), "{error}");
        let (taken,) = kept
            .decode::<Args<(Uncoded,)>>()
            .expect("taken over")
            .unwrap();
        assert!(Arc::ptr_eq(&taken.0, &mark));
    }

    #[test]
    fn another_type_of_this_process_is_read_as_if_it_had_come_over_a_wire() {
        #[derive(Debug)]
        struct Proto;
        impl Message for Proto {
            fn encode(&self, codec: Codec, _: &mut BytesMut) -> Result<(), CodecError> {
                Err(CodecError::Unsupported {
                    type_name: "Proto",
                    codec,
                })
            }
        }
        let payload = Payload::typed(Args::wrap(("7".to_owned(), 8_i64)));
        let read = payload
            .decode::<Args<(Value, i32)>>()
            .expect("read")
            .unwrap();
        assert_eq!(read, ("7".into(), 8));
        let error = Payload::typed(Proto)
            .decode::<Args<Three>>()
            .expect_err("no hessian");
        assert!(
            matches!(&error, CodecError::Type { got, .. } if got == "Proto"),
            "{error}"
        );
    }

    #[test]
    fn sixteen_arguments_have_sixteen_types() {
        type Sixteen = (
            bool,
            i8,
            i16,
            i32,
            i64,
            f32,
            f64,
            char,
            String,
            Vec<u8>,
            Value,
            bool,
            bool,
            bool,
            bool,
            i32,
        );
        let types = Sixteen::types();
        let types: Vec<&str> = types.iter().map(Declared::name).collect();
        assert_eq!((types.len(), Sixteen::COUNT), (16, 16));
        assert_eq!(types[..4], ["boolean", "byte", "short", "int"]);
        assert_eq!(
            types[7..11],
            ["char", "java.lang.String", "[B", "java.lang.Object"]
        );
    }
}
