//! What nacos-sdk makes of the scripted Nacos: the column *SDK* of `docs/spec/nacos-2.5.1.md`.

mod nacos {
    pub(crate) mod absence;
    pub(crate) mod auth;
    pub(crate) mod config;
    pub(crate) mod limits;
    pub(crate) mod naming;
    pub(crate) mod sdk;
}
