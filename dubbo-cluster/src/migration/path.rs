//! The two ways to a provider.

use std::fmt;

/// By what a provider is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Path {
    /// By the application that provides the service.
    Application,
    /// By the service's interface.
    Interface,
}

impl Path {
    /// Both.
    pub const BOTH: [Self; 2] = [Self::Application, Self::Interface];

    /// Its name in metrics and in Java's reports: `app`, `interface`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Application => "app",
            Self::Interface => "interface",
        }
    }

    /// The other one.
    pub fn other(self) -> Self {
        match self {
            Self::Application => Self::Interface,
            Self::Interface => Self::Application,
        }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Application => "application",
            Self::Interface => "interface",
        })
    }
}

/// Something of each path.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Both<T> {
    pub(super) application: T,
    pub(super) interface: T,
}

impl<T> Both<T> {
    pub(super) fn of(mut make: impl FnMut(Path) -> T) -> Self {
        Self {
            application: make(Path::Application),
            interface: make(Path::Interface),
        }
    }

    pub(super) fn get(&self, path: Path) -> &T {
        match path {
            Path::Application => &self.application,
            Path::Interface => &self.interface,
        }
    }

    pub(super) fn get_mut(&mut self, path: Path) -> &mut T {
        match path {
            Path::Application => &mut self.application,
            Path::Interface => &mut self.interface,
        }
    }
}
