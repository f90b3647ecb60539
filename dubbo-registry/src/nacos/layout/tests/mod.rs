//! Names and contents, as live peers wrote them and as the specification has them.

mod golden;
mod names;

use super::*;

#[test]
fn a_place_is_a_group_and_a_service() {
    let place = place("g", "providers:a.B::");
    assert_eq!(&*place.0, "g@@providers:a.B::");
    assert_eq!(split(&place), ("g", "providers:a.B::"));
    assert_eq!(split(&Place("g".into())), ("g", ""));
}

#[test]
fn a_group_that_nacos_would_refuse_is_refused() {
    let group = |url: &str| super::group(&url.parse().expect(url), DEFAULT_GROUP);
    assert_eq!(group("nacos://h").expect("default"), DEFAULT_GROUP);
    assert_eq!(group("nacos://h?group=").expect("default"), DEFAULT_GROUP);
    assert_eq!(group("nacos://h?group=a-b.c").expect("legal"), "a-b.c");
    let illegal = group("nacos://h?group=/dubbo").expect_err("a slash");
    assert!(illegal.to_string().contains("group `/dubbo`"), "{illegal}");
}
