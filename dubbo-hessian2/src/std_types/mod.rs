//! The types of Rust's standard library as types of Java.

mod lists;
mod maps;
mod numbers;
mod pointers;
mod text;

#[cfg(test)]
mod tests {
    use std::{
        borrow::Cow,
        collections::{BTreeMap, BTreeSet, HashMap, HashSet},
        fmt::Debug,
        sync::Arc,
    };

    use bytes::Bytes;

    use crate::{
        DecodeOptions, Decoder, FromHessian, Hessian, JavaType, Limits, ToHessian, Value,
        from_slice, to_vec,
    };

    #[derive(Debug, PartialEq, Hessian)]
    #[hessian(class = "com.x.User")]
    struct User {
        id: i64,
    }

    #[test]
    fn types_are_called_what_java_calls_them() {
        fn names<T: JavaType + ?Sized>() -> [Cow<'static, str>; 2] {
            [T::java_name(), T::array_type()]
        }
        for (names, expected) in [
            (names::<bool>(), ["boolean", "[boolean"]),
            (names::<u8>(), ["byte", "[byte"]),
            (names::<i8>(), ["byte", "[byte"]),
            (names::<i16>(), ["short", "[short"]),
            (names::<i32>(), ["int", "[int"]),
            (names::<i64>(), ["long", "[long"]),
            (names::<f32>(), ["float", "[float"]),
            (names::<f64>(), ["double", "[double"]),
            (names::<char>(), ["char", "[char"]),
            (
                names::<Option<i32>>(),
                ["java.lang.Integer", "[java.lang.Integer"],
            ),
            (
                names::<Option<char>>(),
                ["java.lang.Character", "[java.lang.Character"],
            ),
            (
                names::<Option<bool>>(),
                ["java.lang.Boolean", "[java.lang.Boolean"],
            ),
            (names::<Option<String>>(), ["java.lang.String", "[string"]),
            (names::<&str>(), ["java.lang.String", "[string"]),
            (names::<Arc<str>>(), ["java.lang.String", "[string"]),
            (names::<()>(), ["void", "[void"]),
            (names::<Option<()>>(), ["java.lang.Void", "[java.lang.Void"]),
            (names::<Value>(), ["java.lang.Object", "[object"]),
            (names::<User>(), ["com.x.User", "[com.x.User"]),
            (names::<Option<Box<User>>>(), ["com.x.User", "[com.x.User"]),
            (names::<Vec<User>>(), ["java.util.List", "[java.util.List"]),
            (names::<[i32; 2]>(), ["java.util.List", "[java.util.List"]),
            (names::<Vec<u8>>(), ["[B", "[[byte"]),
            (names::<Bytes>(), ["[B", "[[byte"]),
            (names::<Box<[u8]>>(), ["[B", "[[byte"]),
            (names::<Box<[i32]>>(), ["[I", "[[int"]),
            (names::<Box<[bool]>>(), ["[Z", "[[boolean"]),
            (names::<Box<[Vec<u8>]>>(), ["[[B", "[[[byte"]),
            (names::<Box<[Box<[i64]>]>>(), ["[[J", "[[[long"]),
            (
                names::<Box<[String]>>(),
                ["[Ljava.lang.String;", "[[string"],
            ),
            (names::<Box<[User]>>(), ["[Lcom.x.User;", "[[com.x.User"]),
            (names::<HashSet<i32>>(), ["java.util.Set", "[java.util.Set"]),
            (
                names::<BTreeMap<i32, i32>>(),
                ["java.util.Map", "[java.util.Map"],
            ),
        ] {
            assert_eq!(names, expected);
        }
    }

    #[test]
    fn each_type_has_its_form() {
        #[expect(clippy::needless_pass_by_value, reason = "shorter where it is called")]
        fn check<T: ToHessian + FromHessian + PartialEq + Debug>(value: T, bytes: &[u8]) {
            assert_eq!(to_vec(&value).expect("encodes"), bytes, "{value:?}");
            assert_eq!(from_slice::<T>(bytes).expect("reads"), value);
        }
        check(200_u8, b"\xc7\xc8");
        check(-56_i8, b"\xc7\xc8");
        check(1.1_f32, b"\x5f\0\0\x04\x4c");
        check('中', "\u{1}中".as_bytes());
        check((), b"N");
        check(None::<i32>, b"N");
        check(Some(Box::new(Arc::new(1))), b"\x91");
        check(vec![1_u8, 2], b"\x22\x01\x02");
        check(vec![-1_i8], b"\x79\x8f");
        check(vec![Some(1_u8), None], b"\x7a\x91N");
        check(Bytes::from_static(b"a"), b"\x21a");
        check::<Box<[u8]>>(Box::new([1]), b"\x21\x01");
        check::<Box<[i8]>>(Box::new([-1]), b"\x21\xff");
        check::<Box<[char]>>(Box::new(['a', '中']), "\u{2}a中".as_bytes());
        check::<Box<[i32]>>(Box::new([1]), b"\x71\x04[int\x91");
        check::<Box<[f32]>>(
            Box::new([1.1]),
            b"\x71\x06[floatD\x3f\xf1\x99\x99\xa0\0\0\0",
        );
        check::<Box<[Option<f32>]>>(
            Box::new([Some(1.1), None]),
            b"\x72\x10[java.lang.Float\x5f\0\0\x04\x4cN",
        );
        check::<Box<[Box<[i32]>]>>(Box::new([Box::new([1])]), b"\x71\x05[[int\x71\x04[int\x91");
        check::<Box<[String]>>(Box::new(["a".into()]), b"\x71\x07[string\x01a");
        check(HashSet::from([1]), b"\x71\x11java.util.HashSet\x91");
        check(BTreeSet::from([1, 2]), b"\x72\x11java.util.HashSet\x91\x92");
        check(BTreeMap::from([("a".to_owned(), 1)]), b"H\x01a\x91Z");
        check(
            HashMap::from([(1, vec!["a".to_owned()])]),
            b"H\x91\x79\x01aZ",
        );
        check(User { id: 1 }, b"C\x0acom.x.User\x91\x02id\x60\xe1");
        assert_eq!(to_vec(&[1, 2]).expect("encodes"), b"\x7a\x91\x92");
        assert_eq!(to_vec(&["a"][..]).expect("encodes"), b"\x79\x01a");
        assert!(to_vec(&'😀').is_err(), "it has two units");
    }

    #[test]
    fn what_the_type_has_no_room_for_is_refused() {
        for bytes in [&b"\xc0\x7f"[..], b"\xc9\0", b"\x01a", b"\x5f\0\0\x01\xf4"] {
            assert!(from_slice::<u8>(bytes).is_err(), "{bytes:x?}");
            assert!(from_slice::<i8>(bytes).is_err(), "{bytes:x?}");
        }
        assert_eq!(from_slice::<u8>(b"\xc8\xc8").expect("unsigned"), 200);
        assert!(from_slice::<i8>(b"\xc8\xc8").is_err());
        assert!(from_slice::<i16>(b"\xd4\x80\0").is_err());
        for bytes in [&b"\0"[..], b"\x02ab", b"\x90", "\u{3}a😀".as_bytes()] {
            assert!(from_slice::<char>(bytes).is_err(), "{bytes:x?}");
        }
        assert!(from_slice::<bool>(b"\x91").is_err());
        assert!(from_slice::<String>(b"\x91").is_err());
    }

    #[test]
    fn null_is_zero_or_empty_unless_a_type_cannot_be() {
        fn check<T: FromHessian + PartialEq + Debug>(expected: T) {
            assert_eq!(from_slice::<T>(b"N").expect("reads"), expected);
            assert_eq!(T::from_null(), Some(expected));
        }
        check(0_i32);
        check(0_i64);
        check(0_u8);
        check(0.0_f32);
        check(0.0_f64);
        check(false);
        check('\0');
        check(String::new());
        check(Arc::<str>::from(""));
        check(Vec::<User>::new());
        check(Box::<[User]>::default());
        check(Bytes::new());
        check(HashMap::<String, User>::new());
        check(BTreeSet::<i32>::new());
        check(None::<User>);
        check(Value::Null);
        assert!(from_slice::<User>(b"N").is_err());
        assert_eq!(User::from_null(), None);
        assert_eq!(from_slice::<Vec<i32>>(b"\x7aN\x91").expect("reads"), [0, 1]);
    }

    #[test]
    fn nulls_for_large_structs_are_counted() {
        let limits = Limits {
            nodes: 100,
            ..Limits::DEFAULT
        };
        let options = DecodeOptions {
            limits,
            ..DecodeOptions::DEFAULT
        };
        let bytes = [b"X\xc8\x80", [b'N'; 128].as_slice()].concat();
        let mut decoder = Decoder::with_options(&bytes, &options);
        let error = Vec::<Option<Wide>>::decode(&mut decoder).expect_err("too much");
        assert!(error.is_limit(), "{error}");
        let mut decoder = Decoder::with_options(&bytes, &options);
        assert_eq!(
            Vec::<Option<i64>>::decode(&mut decoder)
                .expect("small ones")
                .len(),
            128
        );
    }

    #[derive(Debug, Hessian)]
    #[hessian(class = "Wide")]
    struct Wide {
        first: String,
        second: String,
    }
}
