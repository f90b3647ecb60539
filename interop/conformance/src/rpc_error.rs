//! Statuses as the suite's errors, and the other way round.

use dubbo::{Code, Detail, Status};

use crate::{any::Any, suite::Error};

/// `error` as a handler fails with it. `more` is one more detail.
pub(crate) fn status(error: Error, more: Option<Any>) -> Status {
    let code = Code::from_number(error.code.unsigned_abs());
    let details = error.details.into_iter().chain(more);
    let details = details.map(|any| Detail {
        type_url: any.type_url,
        value: any.value,
    });
    Status::new(code, error.message.unwrap_or_default()).with_details(details.collect())
}

/// What a caller got.
pub(crate) fn error(status: &Status) -> Error {
    let details = status.details().iter().map(|detail| Any {
        type_url: detail.type_url.clone(),
        value: detail.value.clone(),
    });
    Error {
        code: i32::try_from(status.code().number()).unwrap_or(i32::MAX),
        message: Some(status.message().to_owned()),
        details: details.collect(),
    }
}
