//! Metadata and what instances say: no input panics, and metadata that was read is the same once it is written and read
//! again, and keeps its revisions.

#![no_main]

use dubbo_hessian2::{from_slice, to_vec};
use dubbo_metadata::{
    instance::{Endpoints, MetadataServiceParams},
    model::MetadataInfo,
    revision::Algorithm,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(text) = str::from_utf8(bytes) {
        let _ = MetadataServiceParams::parse(text);
        if let Ok(endpoints) = Endpoints::parse(text) {
            let again = Endpoints::parse(&endpoints.to_json());
            assert_eq!(again.expect("what was written can be read"), endpoints);
        }
    }
    if let Ok(info) = MetadataInfo::from_json(bytes) {
        let again = MetadataInfo::from_json(&info.to_json());
        assert_eq!(again.expect("what was written can be read"), info);
        same_as_hessian(info);
    }
    if let Ok(info) = from_slice::<MetadataInfo>(bytes) {
        same_as_hessian(info);
    }
});

/// The Java object has no time.
fn same_as_hessian(info: MetadataInfo) {
    let info = MetadataInfo {
        last_updated_ms: None,
        ..info
    };
    let written = to_vec(&info).expect("what was read can be written");
    let again: MetadataInfo = from_slice(&written).expect("what was written can be read");
    assert_eq!(again, info);
    for algorithm in [
        Algorithm::Go305,
        Algorithm::Go332,
        Algorithm::Java,
        Algorithm::R1,
    ] {
        let revision = |info: &MetadataInfo| algorithm.revision(&info.app, info.services.values());
        assert_eq!(revision(&again), revision(&info));
    }
}
