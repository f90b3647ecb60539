//! Test support: scripted peers and the suites that every plugin passes.
