//! What our callers are told.

use std::{collections::BTreeMap, error::Error as _};

use base64::{Engine as _, engine::general_purpose::STANDARD_NO_PAD};
use dubbo::{AttachmentValue, Attachments, Status, java::thrown};

use crate::{
    reading::{NO_ATTACHMENTS, shown_detail},
    sheet::Sheet,
};

/// What one of our callers is told.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) messages: Vec<String>,
    pub(crate) attachments: BTreeMap<String, Vec<String>>,
    /// `None` when the caller gave up.
    pub(crate) outcome: Option<Result<(), Status>>,
}

impl Told {
    pub(crate) fn failed(status: Status) -> Self {
        Self {
            attachments: lists(&[status.attachments()]),
            outcome: Some(Err(status)),
            ..Self::default()
        }
    }

    /// As it is compared. The text of an error is ours to choose when nobody sent one.
    pub(crate) fn sheet(&self, with_text: bool) -> Sheet {
        let mut sheet = Sheet::default();
        sheet.put_all("message", &self.messages);
        sheet.put_lists("attachment", &self.attachments);
        match &self.outcome {
            None => {}
            Some(Ok(())) => sheet.put("code", 0),
            Some(Err(status)) => {
                sheet.put("code", status.code().number());
                // What the framework throws is told by the code and the text.
                if let Some(thrown) =
                    thrown(status).filter(|t| !t.class().ends_with(".RpcException"))
                {
                    sheet.put_thrown(thrown.class(), thrown.message());
                    return sheet;
                }
                if with_text {
                    sheet.put("text", words(status));
                }
                let details = status.details().iter();
                sheet.put_all(
                    "detail",
                    details.map(|d| shown_detail(&d.type_url, &d.value)),
                );
            }
        }
        sheet
    }
}

/// The text of an error without what the cluster adds to it: behind the cluster's story is the status of the last attempt.
pub(crate) fn words(status: &Status) -> &str {
    let story = status.source();
    let last = story.and_then(|story| story.source()?.downcast_ref::<Status>());
    last.unwrap_or(status).message()
}

/// Attachments as [`attachments`](crate::reading::attachments) has them.
pub(crate) fn lists(all: &[&Attachments]) -> BTreeMap<String, Vec<String>> {
    let mut lists: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, value) in all.iter().flat_map(|attachments| attachments.iter()) {
        if NO_ATTACHMENTS.contains(&&*name) {
            continue;
        }
        let (name, value) = match value {
            AttachmentValue::Text(text) => (name.into_owned(), text.into_owned()),
            AttachmentValue::Binary(bytes) => {
                (format!("{name}-bin"), STANDARD_NO_PAD.encode(bytes))
            }
            other => (name.into_owned(), format!("{other:?}")),
        };
        lists.entry(name).or_default().push(value);
    }
    lists
}
