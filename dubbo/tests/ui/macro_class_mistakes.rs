//! What cannot be a class.

use dubbo::Hessian;

#[derive(Hessian)]
struct Nameless {
    id: i64,
}

#[derive(Hessian)]
#[hessian(class = "com.example.Misspelled")]
struct Misspelled {
    #[hessian(renam = "id")]
    number: i64,
}

#[derive(Hessian)]
#[hessian(class = "com.example.Twice")]
struct Twice {
    user_name: String,
    #[hessian(rename = "userName")]
    name: String,
}

#[derive(Hessian)]
#[hessian(class = "com.example.Tuple")]
struct Tuple(i64, String);

#[derive(Hessian)]
#[hessian(class = "com.example.Either")]
union Either {
    id: i64,
    age: i32,
}

#[derive(Hessian)]
#[hessian(class = "com.example.Shape")]
enum Shape {
    Circle(f64),
    #[hessian(flatten)]
    Square,
}

fn main() {}
