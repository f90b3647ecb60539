//! URLs: no input panics, and a URL that was read is read the same once it is written again.

#![no_main]

use dubbo_core::url::Url;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = Url::decode(text);
    let Ok(url) = text.parse::<Url>() else {
        return;
    };
    let written = url.to_string();
    assert_eq!(written.parse::<Url>().as_ref(), Ok(&url), "{written}");
    assert_eq!(Url::decode(&url.encode()).as_ref(), Ok(&url), "{written}");
});
