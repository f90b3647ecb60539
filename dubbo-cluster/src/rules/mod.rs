//! The rules of one instance, by key, from wherever they are said (`docs/spec/cluster.md` §4.1).
