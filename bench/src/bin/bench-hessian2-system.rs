//! Times our Hessian codec in a program that leaves its allocator to the system.

fn main() -> std::io::Result<()> {
    bench::hessian2::serve()
}
