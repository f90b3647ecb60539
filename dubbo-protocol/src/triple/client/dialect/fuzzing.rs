//! What `fuzz/` reaches into of the client. Not a public interface.

use dubbo_core::status::Status;
use http::{HeaderMap, HeaderValue, StatusCode, header::CONTENT_TYPE};

use super::{error, web};

/// The trailers in `lines`, the last envelope of an answer of gRPC-Web; `None` for what is none.
pub fn read_web_trailers(lines: &[u8]) -> Option<HeaderMap> {
    web::trailers(lines).ok()
}

/// The failure that came as `body`, in JSON, with the status `http`; `None` for what is no status of HTTP.
pub fn read_json_error(http: u16, body: &[u8]) -> Option<Status> {
    let http = StatusCode::from_u16(http).ok()?;
    let json = HeaderValue::from_static("application/json");
    let headers = HeaderMap::from_iter([(CONTENT_TYPE, json)]);
    Some(error::read(http, &headers, body))
}
