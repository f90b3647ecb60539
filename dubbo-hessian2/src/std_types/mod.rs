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
        DecodeError, DecodeOptions, Decoder, FromHessian, Hessian, JavaType, Limits, Shared,
        ToHessian, Value, from_slice, java::LinkedHashMap, to_vec,
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
    fn keys_are_read_from_their_texts_as_well() {
        fn check<K: FromHessian + Ord + Debug>(text: &str, key: K) {
            let expected = BTreeMap::from([(key, 1)]);
            // As the key of a map, and as the name of a field of an object that is read as a map.
            let length = u8::try_from(text.len()).expect("short");
            let text = [&[length], text.as_bytes()].concat();
            let map = [b"H", &text[..], b"\x91Z"].concat();
            let object = [b"C\x01A\x91", &text[..], b"\x60\x91"].concat();
            for bytes in [map, object] {
                let read: BTreeMap<K, i32> = from_slice(&bytes).expect("reads");
                assert_eq!(read, expected);
            }
        }
        check("-7", -7_i32);
        check("9007199254740993", 9_007_199_254_740_993_i64);
        check("-7", -7_i16);
        check("-7", -7_i8);
        check("-7", 249_u8);
        check("249", 249_u8);
        check("true", true);
        check("x", 'x');
        check("7", Some(7));
        check("7", Box::new(7));
        check("7", Arc::new(7));
        check("7", "7".to_owned());
        let floats: LinkedHashMap<f64, i32> = from_slice(b"H\x031.5\x91Z").expect("reads");
        assert_eq!(floats.0, [(1.5, 1)]);
        let hashed: HashMap<i32, i32> = from_slice(b"H\x017\x91\x98\x92Z").expect("reads");
        assert_eq!(hashed, HashMap::from([(7, 1), (8, 2)]));

        for text in ["", "a", "1.0", "2147483648", " 1"] {
            let length = u8::try_from(text.len()).expect("short");
            let bytes = [&b"H"[..], &[length], text.as_bytes(), b"\x91Z"].concat();
            let error = from_slice::<HashMap<i32, i32>>(&bytes).expect_err(text);
            assert!(error.to_string().contains("is no int"), "{error}");
        }
        // Only keys: a value that is a text is still no number.
        assert!(from_slice::<HashMap<i32, i32>>(b"H\x91\x017Z").is_err());
        assert!(from_slice::<Vec<i32>>(b"\x79\x017").is_err());
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

    /// Memory for the elements alone, or the error that there would be too much.
    fn memory<T: FromHessian>(element: &[u8], count: i32) -> Result<usize, DecodeError> {
        let options = DecodeOptions {
            limits: Limits {
                nodes: 1000,
                ..Limits::DEFAULT
            },
            ..DecodeOptions::DEFAULT
        };
        let count_of = usize::try_from(count).expect("positive");
        let class = b"C\x01W\x90";
        let bytes = [
            &class[..],
            b"X",
            &to_vec(&count).expect("encodes"),
            &element.repeat(count_of),
        ]
        .concat();
        let mut decoder = Decoder::with_options(&bytes, &options);
        let list = Vec::<T>::decode(&mut decoder)?;
        Ok(list.len() * size_of::<T>())
    }

    #[test]
    fn memory_is_bounded_by_what_was_sent() {
        type Memory = fn(&[u8], i32) -> Result<usize, DecodeError>;
        let kinds: [(&str, Memory, &[u8], usize); 11] = [
            ("structs", memory::<Wide>, b"\x60", 0),
            ("nothing", memory::<Option<Wide>>, b"N", 0),
            ("strings", memory::<String>, b"N", 0),
            ("maps", memory::<HashMap<String, String>>, b"N", 0),
            ("lists", memory::<Vec<i32>>, b"N", 0),
            ("boxed slices", memory::<Box<[i32]>>, b"N", 0),
            ("boxed numbers", memory::<Box<i64>>, b"\x91", 32),
            ("boxed maps", memory::<Box<HashMap<i32, i32>>>, b"N", 64),
            ("counted", memory::<Arc<String>>, b"N", 40),
            ("handles", memory::<Shared<i64>>, b"\x91", 32),
            (
                "handles of maps",
                memory::<Shared<HashMap<i32, i32>>>,
                b"N",
                64,
            ),
        ];
        for (name, memory, element, behind) in kinds {
            let mut largest = 0;
            for count in [100, 1_000, 10_000, 100_000, 1_000_000] {
                let sent = usize::try_from(count).expect("positive") * element.len();
                match memory(element, count) {
                    Ok(memory) => largest = memory + sent / element.len() * behind,
                    Err(error) => assert!(error.is_limit(), "{name}: {error}"),
                }
                assert!(
                    largest <= 16 * sent + 2 * 1000 * 64,
                    "{name}: {largest} of {sent}"
                );
            }
        }
    }

    #[test]
    fn what_takes_no_more_than_its_bytes_is_not_counted() {
        for (element, memory) in [
            (
                &b"\x91"[..],
                memory::<i32> as fn(&[u8], i32) -> Result<usize, DecodeError>,
            ),
            (b"\xe1", memory::<i64>),
            (b"N", memory::<Option<i32>>),
            (b"N", memory::<Option<Box<Wide>>>),
            (b"\x02ab", memory::<String>),
            (b"\x02ab", memory::<Arc<str>>),
        ] {
            memory(element, 100_000).expect("is not counted");
        }
    }

    #[derive(Debug, Hessian)]
    #[hessian(class = "W")]
    struct Wide {
        one: HashMap<String, String>,
        two: HashMap<String, String>,
        three: HashMap<String, String>,
        four: HashMap<String, String>,
    }
}
