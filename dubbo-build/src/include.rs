//! The file that includes all others, in the modules of their packages.

use std::fmt::Write as _;

use prost_build::Module;

/// Nests `include!` of every file. Without `folder`, the files are in `OUT_DIR`; otherwise beside this one.
pub(crate) fn modules(modules: &[Module], in_out_dir: bool) -> String {
    let mut modules: Vec<Vec<&str>> = modules
        .iter()
        .map(|module| module.parts().collect())
        .collect();
    modules.sort();
    let mut text = String::new();
    nest(&modules, 0, in_out_dir, &mut text);
    text
}

/// Writes the modules that agree in the first `depth` parts of their paths.
fn nest(modules: &[Vec<&str>], depth: usize, in_out_dir: bool, text: &mut String) {
    let indent = "    ".repeat(depth);
    for group in modules.chunk_by(|a, b| a.get(depth) == b.get(depth)) {
        let Some(part) = group[0].get(depth) else {
            let module = Module::from_parts(group[0].iter().copied());
            let file = module.to_file_name_or("_");
            let path = if in_out_dir {
                format!(r#"concat!(env!("OUT_DIR"), "/{file}")"#)
            } else {
                format!(r#""{file}""#)
            };
            line(text, &indent, &format!("include!({path});"));
            continue;
        };
        if depth == 0 {
            line(text, &indent, "#[allow(missing_docs, unreachable_pub)]");
        }
        line(text, &indent, &format!("pub mod {part} {{"));
        nest(group, depth + 1, in_out_dir, text);
        line(text, &indent, "}");
    }
}

fn line(text: &mut String, indent: &str, line: &str) {
    writeln!(text, "{indent}{line}").expect("invariant: a string takes what is written to it");
}
