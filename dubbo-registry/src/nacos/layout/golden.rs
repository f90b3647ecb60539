//! Contents that live peers wrote.
