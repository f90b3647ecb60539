//! Rules that override what URLs say (`docs/spec/cluster.md` §5).
