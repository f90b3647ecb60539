//! `#[dubbo::service]`.

mod expand;
mod method;
mod parse;

use proc_macro2::TokenStream;

/// The trait in `item` as a service, with its server, its client and its descriptor.
pub(crate) fn expand(options: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    parse::Service::parse(options, item).map(|service| expand::service(&service))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mistakes::assert_told;

    #[test]
    fn what_cannot_be_a_service_is_told() {
        for (options, item, messages) in [
            (
                "",
                "trait A {}",
                &["needs the full name of its interface"][..],
            ),
            (
                "interface = \"a.A\"",
                "struct A;",
                &["a service is a trait"],
            ),
            (
                "interface = \"a A\"",
                "trait A {}",
                &["`a A` is not the full name"],
            ),
            (
                "interfce = \"a.A\"",
                "trait A {}",
                &["did you mean `interface`?"],
            ),
            (
                "interface = \"a.A\", version = \"\"",
                "trait A {}",
                &["leave it out"],
            ),
            (
                "interface = \"a.A\", version = \"*\"",
                "trait A {}",
                &["without `*`"],
            ),
            (
                "interface = \"a.A\", group = \"g/h\"",
                "trait A {}",
                &["without `*`, `/`"],
            ),
            (
                "interface = \"a.A\", group = g",
                "trait A {}",
                &["expected string literal"],
            ),
            ("interface = \"a.A\"", "trait A<T> {}", &["not generic"]),
            (
                "interface = \"a.A\"",
                "unsafe trait A {}",
                &["a plain trait"],
            ),
            (
                "interface = \"a.A\"",
                "#[cfg(x)] trait A {}",
                &["write `cfg` above"],
            ),
            (
                "interface = \"a.A\"",
                "trait A { type B; }",
                &["has methods only"],
            ),
        ] {
            assert_told(
                &format!("{options} {item}"),
                expanded(options, item),
                messages,
            );
        }
    }

    #[test]
    fn what_cannot_be_a_method_is_told() {
        for (methods, messages) in [
            ("fn a(&self) -> Result<(), S>;", &["is an `async fn`"][..]),
            (
                "async unsafe fn a(&self) -> Result<(), S>;",
                &["a plain `async fn`"],
            ),
            ("async fn a<T>(&self) -> Result<T, S>;", &["not generic"]),
            (
                "async fn a<'a>(&'a self) -> Result<(), S>;",
                &["not generic", "takes `&self`"],
            ),
            ("async fn a(self) -> Result<(), S>;", &["takes `&self`"]),
            (
                "async fn a(&mut self) -> Result<(), S>;",
                &["takes `&self`"],
            ),
            ("async fn a(b: i32) -> Result<(), S>;", &["takes `&self`"]),
            (
                "async fn a(&self) -> Result<(), S> { Ok(()) }",
                &["has no body here"],
            ),
            (
                "#[cfg(x)] async fn a(&self) -> Result<(), S>;",
                &["`cfg` is for the whole trait"],
            ),
            ("async fn a(&self);", &["returns a `Result<_, Status>`"]),
            (
                "async fn a(&self) -> String;",
                &["returns a `Result<_, Status>`"],
            ),
            (
                "async fn a(&self) -> Result<&str, S>;",
                &["values that are owned"],
            ),
            (
                "async fn a(&self, (b, c): D) -> Result<(), S>;",
                &["has a plain name"],
            ),
            (
                "async fn a(&self, mut b: D) -> Result<(), S>;",
                &["has a plain name"],
            ),
            (
                "async fn a(&self, _: D) -> Result<(), S>;",
                &["has a plain name"],
            ),
            (
                "async fn a(&self, b: &str) -> Result<(), S>;",
                &["values that are owned"],
            ),
            (
                "async fn a(&self, b: impl B) -> Result<(), S>;",
                &["types that both sides know"],
            ),
            (
                "async fn a(&self, b: B, c: CallContext) -> Result<(), S>;",
                &["comes first"],
            ),
            (
                "async fn a(&self, b: Streaming<B>, c: C) -> Result<(), S>;",
                &["no other parameters beside a stream"],
            ),
            (
                "async fn a(&self, a: A, b: A, c: A, d: A, e: A, f: A, g: A, h: A, i: A, j: A, k: A, \
                 l: A, m: A, n: A, o: A, p: A, q: A) -> Result<(), S>;",
                &["16 parameters at most"],
            ),
            (
                "fn a(self, &b: &B) -> B;",
                &[
                    "an `async fn`",
                    "takes `&self`",
                    "has a plain name",
                    "returns a `Result",
                ],
            ),
        ] {
            assert_told(methods, service(methods), messages);
        }
    }

    #[test]
    fn what_cannot_be_an_option_of_a_method_is_told() {
        for (methods, messages) in [
            (
                "#[dubbo(nam = \"b\")] async fn a(&self) -> Result<(), S>;",
                &["did you mean `name`?"][..],
            ),
            (
                "#[dubbo(name = \"a b\")] async fn a(&self) -> Result<(), S>;",
                &["cannot be the name"],
            ),
            (
                "#[dubbo(types = [\"int\"])] async fn a(&self, c: CallContext) -> Result<(), S>;",
                &["1 Java types, 0 parameters"],
            ),
            (
                "#[dubbo(types = [\"java.util.List<A>\"])] async fn a(&self, b: B) -> Result<(), S>;",
                &["write `java.util.List`"],
            ),
            (
                "#[dubbo(types = \"int\")] async fn a(&self, b: B) -> Result<(), S>;",
                &["square brackets"],
            ),
            (
                "#[dubbo(types = [\"int\"])] async fn a(&self, b: Streaming<B>) -> Result<(), S>;",
                &["a `StreamObserver` in Java"],
            ),
            (
                "#[dubbo(returns = \"int[]\")] async fn a(&self) -> Result<B, S>;",
                &["Class.getName()"],
            ),
            (
                "#[dubbo(oneway)] async fn a(&self) -> Result<B, S>;",
                &["nobody waits"],
            ),
            (
                "#[dubbo(oneway)] async fn a(&self, b: Streaming<B>) -> Result<(), S>;",
                &["nobody waits"],
            ),
            (
                "async fn a_b(&self, c: C) -> Result<(), S>; \
                 #[dubbo(name = \"aB\")] async fn d(&self, e: C) -> Result<(), S>;",
                &["`a_b` is called `aB` too"],
            ),
            (
                "#[dubbo(types = [\"int\"])] async fn a(&self, c: C) -> Result<(), S>; \
                 #[dubbo(name = \"a\", types = [\"int\"])] async fn b(&self, c: D) -> Result<(), S>;",
                &["`a` is called `a` too"],
            ),
        ] {
            assert_told(methods, service(methods), messages);
        }
    }

    #[test]
    fn methods_of_one_name_may_take_different_types() {
        for methods in [
            "async fn a(&self, c: C) -> Result<(), S>; \
             #[dubbo(name = \"a\")] async fn b(&self, c: D) -> Result<(), S>;",
            "async fn a(&self, c: C) -> Result<(), S>; \
             #[dubbo(name = \"a\")] async fn b(&self, c: C) -> Result<Streaming<C>, S>;",
            "#[dubbo(types = [\"int\"])] async fn a(&self, c: C) -> Result<(), S>; \
             #[dubbo(name = \"a\", types = [\"long\"])] async fn b(&self, c: C) -> Result<(), S>;",
        ] {
            assert_told(methods, service(methods), &[]);
        }
    }

    fn service(methods: &str) -> syn::Result<TokenStream> {
        expanded(
            "interface = \"a.A\"",
            &format!("pub trait A {{ {methods} }}"),
        )
    }

    fn expanded(options: &str, item: &str) -> syn::Result<TokenStream> {
        let parse = |source: &str| source.parse().unwrap_or_else(|_| panic!("{source}"));
        expand(parse(options), parse(item))
    }
}
