//! Times our Hessian codec in a program that allocates as services do that allocate much: a program in Rust chooses its
//! allocator, where Go and Java bring theirs.

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::io::Result<()> {
    bench::hessian2::serve()
}
