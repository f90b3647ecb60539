//! Where lines go.

use std::{io::Write as _, time::Duration};

use super::{
    file::{FileLog, Rolling},
    has_colours,
    line::Line,
};
use crate::{
    config::{LogAppender, LogFormat, LoggerConfig},
    error::Error,
};

/// The places that lines go to, and the form that they have there.
pub(super) struct Output {
    format: LogFormat,
    console: Option<Console>,
    file: Option<FileLog>,
}

/// Standard error: what a program says last is there whatever becomes of it.
struct Console {
    has_colours: bool,
}

impl Output {
    /// # Errors
    ///
    /// The file cannot be opened.
    pub(super) fn open(config: &LoggerConfig) -> Result<Self, Error> {
        let has = |appender| config.appenders().contains(&appender);
        let file = has(LogAppender::File).then(|| {
            let format = config.format.unwrap_or(LogFormat::Text);
            let rolling = Rolling::open(&config.file).map_err(|source| Error::LogFile {
                path: config.file.path().to_owned(),
                source,
            })?;
            Ok::<_, Error>(FileLog::write(rolling, format))
        });
        Ok(Self {
            console: has(LogAppender::Console).then(Console::new),
            file: file.transpose()?,
            ..Self::console(config)
        })
    }

    /// The console alone.
    pub(super) fn console(config: &LoggerConfig) -> Self {
        Self {
            format: config.format.unwrap_or(LogFormat::Text),
            console: Some(Console::new()),
            file: None,
        }
    }

    pub(super) fn write(&self, line: &Line) {
        if let Some(console) = &self.console {
            let text = self.form(line, console.has_colours);
            // Nobody is left to be told.
            let _ = std::io::stderr().lock().write_all(text.as_bytes());
        }
        if let Some(file) = &self.file {
            file.put(self.form(line, false));
        }
    }

    pub(super) fn has_file(&self) -> bool {
        self.file.is_some()
    }

    /// As [`flush`](super::flush).
    pub(super) fn flush(&self, patience: Duration) -> bool {
        self.file.as_ref().is_none_or(|file| file.flush(patience))
    }

    fn form(&self, line: &Line, has_colours: bool) -> String {
        match self.format {
            LogFormat::Json => line.json(),
            LogFormat::Text => line.text(has_colours),
        }
    }
}

impl Console {
    fn new() -> Self {
        Self {
            has_colours: has_colours(),
        }
    }
}
