//! Definitions of services of proto files.

use dubbo_core::service::{CallKind, MethodDescriptor, ServiceDescriptor};
use protox::file::{File, FileResolver, GoogleFileResolver};

use super::super::*;

const PROTO: &str = r#"
syntax = "proto3";
package shop.v1;
import "google/protobuf/timestamp.proto";

option java_package = "com.example.shop";

service Orders {
  rpc Place(Order) returns (Receipt);
  rpc Watch(Receipt) returns (stream Order);
  rpc Fill(stream Order) returns (Receipt);
}

message Order {
  enum State { NEW = 0; PAID = 1; }
  message Line { string article_name = 1; double price = 2; }
  string id = 1;
  State state = 2;
  repeated Line lines = 3;
  map<string, int64> stock = 4;
  optional uint32 count = 5;
  repeated int32 numbers = 6;
  bytes photo = 7;
  google.protobuf.Timestamp placed_at = 8;
  Order previous = 9;
  oneof payment { bool cash = 10; Receipt receipt = 11; }
}

message Receipt { string number = 1; }
"#;

struct Files(String);

impl FileResolver for Files {
    fn open_file(&self, name: &str) -> Result<File, protox::Error> {
        if name == "orders.proto" {
            File::from_source(name, &self.0)
        } else {
            GoogleFileResolver::new().open_file(name)
        }
    }
}

fn orders(proto: &str) -> ServiceDescriptor {
    let mut compiler = protox::Compiler::with_file_resolver(Files(proto.to_owned()));
    compiler.include_imports(true);
    compiler.open_file("orders.proto").expect("a proto file");
    let set = compiler.encode_file_descriptor_set().leak();
    let method =
        |name: &'static str, kind, input: &'static str, output: &'static str| MethodDescriptor {
            input: input.into(),
            output: output.into(),
            ..MethodDescriptor::new(name, kind)
        };
    let (order, receipt) = ("shop.v1.Order", "shop.v1.Receipt");
    let methods = vec![
        method("Place", CallKind::Unary, order, receipt),
        method("Watch", CallKind::ServerStream, receipt, order),
        method("Fill", CallKind::ClientStream, order, receipt),
    ];
    ServiceDescriptor::new("shop.v1.Orders", methods).with_file_descriptor_set(set)
}

fn properties(definition: &ServiceDefinition, name: &str) -> Vec<String> {
    let ty = definition.types.iter().find(|ty| ty.name == name);
    let properties = ty.unwrap_or_else(|| panic!("no {name}")).properties.iter();
    properties
        .map(|(name, ty)| format!("{name}: {ty}"))
        .collect()
}

#[test]
fn messages_are_classes_as_java_would_spell_them() {
    let definition = ServiceDefinition::new(&orders(PROTO), "x");
    // The file is called like the service in it.
    let shop = "com.example.shop.OrdersOuterClass";
    let observer = "org.apache.dubbo.common.stream.StreamObserver";
    let methods = definition.methods.iter();
    let methods: Vec<_> = methods
        .map(|it| {
            format!(
                "{} {}({})",
                it.return_type,
                it.name,
                it.parameter_types.join(", ")
            )
        })
        .collect();
    assert_eq!(
        methods,
        [
            format!("{shop}.Receipt Place({shop}.Order)"),
            format!("void Watch({shop}.Receipt, {observer})"),
            format!("{observer} Fill({observer})"),
        ]
    );
    let order = "com.example.shop.OrdersOuterClass.Order";
    assert_eq!(
        properties(&definition, order),
        [
            "cash: boolean",
            "count: int",
            "id: java.lang.String",
            "lines: java.util.List<com.example.shop.OrdersOuterClass.Order.Line>",
            "numbers: java.util.List<java.lang.Integer>",
            "photo: com.google.protobuf.ByteString",
            "placedAt: com.google.protobuf.Timestamp",
            "previous: com.example.shop.OrdersOuterClass.Order",
            "receipt: com.example.shop.OrdersOuterClass.Receipt",
            "state: com.example.shop.OrdersOuterClass.Order.State",
            "stock: java.util.Map<java.lang.String,java.lang.Long>",
        ]
    );
    assert_eq!(
        properties(&definition, &format!("{order}.Line")),
        ["articleName: java.lang.String", "price: double"]
    );
    assert_eq!(
        properties(&definition, "com.google.protobuf.Timestamp"),
        ["nanos: int", "seconds: long"]
    );
    let of = |name: &str| {
        let ty = definition.types.iter().find(|ty| ty.name == name);
        ty.unwrap_or_else(|| panic!("no {name}"))
    };
    assert_eq!(of(&format!("{order}.State")).enums, ["NEW", "PAID"]);
    assert_eq!(
        of("java.util.Map<java.lang.String,java.lang.Long>").items,
        ["java.lang.String", "java.lang.Long"]
    );
    let mut names: Vec<&str> = definition.types.iter().map(|ty| &*ty.name).collect();
    assert!(names.is_sorted(), "{names:?}");
    names.dedup();
    assert_eq!(names.len(), definition.types.len());
    assert!(
        !names.iter().any(|name| name.contains("Entry")),
        "{names:?}"
    );
}

#[test]
fn a_file_of_no_java_keeps_the_names_of_its_messages() {
    let proto = PROTO.replace("option java_package = \"com.example.shop\";", "");
    let definition = ServiceDefinition::new(&orders(&proto), "x");
    assert_eq!(definition.methods[0].parameter_types, ["shop.v1.Order"]);
    let proto = PROTO.replace(
        "option java_package",
        "option java_multiple_files = true; option java_package",
    );
    let definition = ServiceDefinition::new(&orders(&proto), "x");
    assert_eq!(
        definition.methods[0].parameter_types,
        ["com.example.shop.Order"]
    );
}

#[test]
fn without_readable_file_descriptors_messages_have_names_alone() {
    for set in [&b""[..], b"\xff\xff"] {
        let descriptor = orders(PROTO).with_file_descriptor_set(set);
        let definition = ServiceDefinition::new(&descriptor, "x");
        assert_eq!(definition.methods[0].parameter_types, ["shop.v1.Order"]);
        assert_eq!(properties(&definition, "shop.v1.Order"), [""; 0]);
    }
}
