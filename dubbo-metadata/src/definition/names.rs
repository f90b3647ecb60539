//! What Java calls the types of proto files.

use prost_types::{
    DescriptorProto, EnumDescriptorProto, FileDescriptorProto, FileOptions, ServiceDescriptorProto,
};

/// What stands before the name of a type of `file` within it: its package, and the class around all types where there is
/// one. A file without any option for Java is of no Java, and its types keep their own names.
pub(super) fn scope(file: &FileDescriptorProto) -> String {
    let Some(options) = file.options.as_ref().filter(|options| is_for_java(options)) else {
        return file.package().to_owned();
    };
    let package = options.java_package.as_deref();
    let package = package.unwrap_or_else(|| file.package());
    if options.java_multiple_files() {
        return package.to_owned();
    }
    let outer = options.java_outer_classname.clone();
    within(package, &outer.unwrap_or_else(|| outer_class(file)))
}

/// `name` in `scope`.
pub(super) fn within(scope: &str, name: &str) -> String {
    if scope.is_empty() {
        name.to_owned()
    } else {
        format!("{scope}.{name}")
    }
}

/// A field's name in camelCase, as JSON and Java have it.
pub(super) fn camel_case(name: &str) -> String {
    let mut capital = false;
    let mut camel = String::with_capacity(name.len());
    for c in name.chars() {
        if c == '_' {
            capital = true;
        } else if std::mem::take(&mut capital) {
            camel.push(c.to_ascii_uppercase());
        } else {
            camel.push(c);
        }
    }
    camel
}

fn is_for_java(options: &FileOptions) -> bool {
    options.java_package.is_some()
        || options.java_outer_classname.is_some()
        || options.java_multiple_files.is_some()
}

/// The name that protoc gives to the class around the types of a file: that of the file, unless a type has it.
fn outer_class(file: &FileDescriptorProto) -> String {
    let name = file.name();
    let name = name.rsplit('/').next().unwrap_or(name);
    let name = name.strip_suffix(".proto").unwrap_or(name);
    let mut capital = true;
    let mut class = String::with_capacity(name.len());
    for c in name.chars() {
        if !c.is_ascii_alphanumeric() {
            capital = true;
            continue;
        }
        let is_capital = std::mem::replace(&mut capital, c.is_ascii_digit());
        class.push(if is_capital {
            c.to_ascii_uppercase()
        } else {
            c
        });
    }
    let messages = file.message_type.iter().map(DescriptorProto::name);
    let enums = file.enum_type.iter().map(EnumDescriptorProto::name);
    let services = file.service.iter().map(ServiceDescriptorProto::name);
    let mut taken = messages.chain(enums).chain(services);
    if taken.any(|name| name == class) {
        class.push_str("OuterClass");
    }
    class
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_says_what_java_calls_its_types() {
        let package = Some("com.example");
        for (name, package, outer, multiple, message, want) in [
            ("shop.proto", None, None, None, "", "shop.v1"),
            ("shop.proto", package, None, Some(true), "", "com.example"),
            ("shop.proto", None, None, Some(true), "", "shop.v1"),
            (
                "shop.proto",
                package,
                Some("Outer"),
                None,
                "",
                "com.example.Outer",
            ),
            (
                "shop.proto",
                package,
                Some("Outer"),
                Some(true),
                "",
                "com.example",
            ),
            (
                "a/my_shop-2b.proto",
                package,
                None,
                None,
                "",
                "com.example.MyShop2B",
            ),
            (
                "shop.proto",
                package,
                None,
                Some(false),
                "Shop",
                "com.example.ShopOuterClass",
            ),
        ] {
            let text = |text: Option<&str>| text.map(str::to_owned);
            let message = DescriptorProto {
                name: Some(message.to_owned()),
                ..DescriptorProto::default()
            };
            let file = FileDescriptorProto {
                name: Some(name.to_owned()),
                package: Some("shop.v1".to_owned()),
                message_type: vec![message],
                options: Some(FileOptions {
                    java_package: text(package),
                    java_outer_classname: text(outer),
                    java_multiple_files: multiple,
                    ..FileOptions::default()
                }),
                ..FileDescriptorProto::default()
            };
            assert_eq!(scope(&file), want, "{name} {outer:?} {multiple:?}");
        }
    }

    #[test]
    fn fields_are_in_camel_case() {
        for (name, want) in [
            ("id", "id"),
            ("user_name", "userName"),
            ("a_b_c", "aBC"),
            ("_x", "X"),
            ("f1_x", "f1X"),
        ] {
            assert_eq!(camel_case(name), want);
        }
    }
}
