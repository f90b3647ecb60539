//! What is flattened has no fields, or one that is there already.

use dubbo::Hessian;

#[derive(Hessian)]
#[hessian(class = "com.example.Color")]
enum Color {
    Red,
}

#[derive(Hessian)]
#[hessian(class = "com.example.Painted")]
struct Painted {
    #[hessian(flatten)]
    color: Color,
}

#[derive(Hessian)]
#[hessian(class = "com.example.Base")]
struct Base {
    id: i64,
}

#[derive(Hessian)]
#[hessian(class = "com.example.Sub")]
struct Sub {
    #[hessian(flatten)]
    base: Base,
    id: i64,
}

fn main() {}
