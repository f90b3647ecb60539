//! The commands of operators: which there are, what each takes, and which of Dubbo's are not here.

use dubbo_core::yaml::nearest;

use super::{Caller, Shared, commands};
use crate::config::PermissionLevel::{self, Private, Protected, Public};

/// One command.
pub(super) struct Command {
    /// As it is typed.
    pub(super) name: &'static str,
    verb: Verb,
    pub(super) level: PermissionLevel,
    /// The arguments, as `help` shows them.
    pub(super) arguments: &'static str,
    /// What it does, in one line.
    pub(super) about: &'static str,
}

/// What commands do; several may do the same to other things.
#[derive(Debug, Clone, Copy)]
pub(super) enum Verb {
    Count,
    DisableRouterSnapshot,
    EnableRouterSnapshot,
    EnabledRouterSnapshot,
    Explain,
    GetAddress,
    GetConfig,
    GracefulShutdown,
    Help,
    Invoke,
    Live,
    LoggerInfo,
    Ls,
    Metrics,
    Offline,
    OfflineApp,
    OfflineInterface,
    Online,
    OnlineApp,
    OnlineInterface,
    Ps,
    PublishMetadata,
    Quit,
    Ready,
    RecentRouterSnapshot,
    RouterSnapshot,
    SerializeCheckStatus,
    SerializeWarnedClasses,
    Shutdown,
    Startup,
    SwitchLogLevel,
    Version,
}

/// How an answer is to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Http,
    Telnet,
}

/// One command as it is asked for.
pub(super) struct Asked<'a> {
    pub(super) shared: &'a Shared,
    pub(super) caller: Caller,
    pub(super) dialect: Dialect,
    pub(super) arguments: &'a [String],
}

/// Why a command has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Failure {
    /// It is not used like that.
    Bad(String),
    /// The caller may not.
    Denied(String),
    /// It was tried and did not work.
    Failed(String),
    /// There is no such command, or nothing that it could be done to.
    NotFound(String),
    /// A probe says no.
    Unwell(String),
}

/// Text, or why there is none.
pub(super) type Answer = Result<String, Failure>;

impl Failure {
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Bad(text)
            | Self::Denied(text)
            | Self::Failed(text)
            | Self::NotFound(text)
            | Self::Unwell(text) => text,
        }
    }
}

impl Command {
    /// The command called `name`, in any case.
    ///
    /// # Errors
    ///
    /// There is none, or it is one of Dubbo's that is not here.
    pub(super) fn named(name: &str) -> Result<&'static Self, Failure> {
        let is_it = |known: &str| known.eq_ignore_ascii_case(name);
        if let Some(command) = COMMANDS.iter().find(|command| is_it(command.name)) {
            return Ok(command);
        }
        if let Some((name, why)) = NOT_HERE.iter().find(|(name, _)| is_it(name)) {
            return Err(Failure::NotFound(format!(
                "the command `{name}` of Dubbo Java is not supported: {why}"
            )));
        }
        let meant = nearest(name, COMMANDS.iter().map(|command| command.name));
        let meant = meant.map(|meant| format!(" (did you mean `{meant}`?)"));
        Err(Failure::NotFound(format!(
            "there is no command `{name}`{}; `help` lists those that there are",
            meant.unwrap_or_default()
        )))
    }

    /// Does it, if the caller may.
    pub(super) async fn run(&self, asked: Asked<'_>) -> Answer {
        let access = &asked.shared.access;
        access
            .allows(asked.caller, self.name, self.level)
            .map_err(Failure::Denied)?;
        match self.verb {
            Verb::Count => commands::count(&asked).await,
            Verb::DisableRouterSnapshot => commands::disable_router_snapshot(&asked),
            Verb::EnableRouterSnapshot => commands::enable_router_snapshot(&asked),
            Verb::EnabledRouterSnapshot => commands::enabled_router_snapshot(&asked),
            Verb::Explain => commands::explain(&asked).await,
            Verb::GetAddress => commands::get_address(&asked),
            Verb::GetConfig => commands::get_config(&asked),
            Verb::GracefulShutdown => commands::graceful_shutdown(&asked).await,
            Verb::Help => commands::help(&asked),
            Verb::Invoke => commands::invoke(&asked).await,
            Verb::Live | Verb::Ready | Verb::Startup => commands::probe(&asked, self.verb).await,
            Verb::LoggerInfo => commands::logger_info(&asked),
            Verb::Ls => commands::ls(&asked).await,
            Verb::Metrics => commands::metrics(&asked).await,
            Verb::Offline
            | Verb::OfflineApp
            | Verb::OfflineInterface
            | Verb::Online
            | Verb::OnlineApp
            | Verb::OnlineInterface => commands::move_services(&asked, self.verb).await,
            Verb::Ps => commands::ps(&asked).await,
            Verb::PublishMetadata => commands::publish_metadata(&asked).await,
            Verb::Quit => Ok("BYE!".to_owned()),
            Verb::RecentRouterSnapshot => commands::recent_router_snapshot(&asked),
            Verb::RouterSnapshot => commands::router_snapshot(&asked),
            Verb::SerializeCheckStatus => commands::check_status(&asked),
            Verb::SerializeWarnedClasses => commands::warned_classes(&asked),
            Verb::Shutdown => commands::shutdown(&asked),
            Verb::SwitchLogLevel => commands::switch_log_level(&asked),
            Verb::Version => Ok(commands::version()),
        }
    }

    /// Whether it ends the conversation.
    pub(super) fn is_quit(&self) -> bool {
        matches!(self.verb, Verb::Quit)
    }

    const fn new(
        name: &'static str,
        verb: Verb,
        level: PermissionLevel,
        arguments: &'static str,
        about: &'static str,
    ) -> Self {
        Self {
            name,
            verb,
            level,
            arguments,
            about,
        }
    }
}

/// Every command, in the order in which `help` lists them.
pub(super) const COMMANDS: [Command; 32] = [
    Command::new(
        "count",
        Verb::Count,
        Protected,
        "<service> [method] [times]",
        "calls of a service so far, again each second",
    ),
    Command::new(
        "disableRouterSnapshot",
        Verb::DisableRouterSnapshot,
        Protected,
        "<service|*>",
        "record the ways of its calls no longer, and forget them",
    ),
    Command::new(
        "enableRouterSnapshot",
        Verb::EnableRouterSnapshot,
        Protected,
        "<service|*>",
        "record what each router leaves to its calls, and who gets them",
    ),
    Command::new(
        "explain",
        Verb::Explain,
        Protected,
        "<service>",
        "why a service has providers or none, step by step",
    ),
    Command::new(
        "getAddress",
        Verb::GetAddress,
        Private,
        "<service>",
        "the providers of a service that is called",
    ),
    Command::new(
        "getConfig",
        Verb::GetConfig,
        Private,
        "[section [name]]",
        "what is set, and where it is written",
    ),
    Command::new(
        "getEnabledRouterSnapshot",
        Verb::EnabledRouterSnapshot,
        Protected,
        "",
        "whose calls are recorded",
    ),
    Command::new(
        "getRecentRouterSnapshot",
        Verb::RecentRouterSnapshot,
        Protected,
        "[calls]",
        "the calls that were recorded last, the newest first",
    ),
    Command::new(
        "getRouterSnapshot",
        Verb::RouterSnapshot,
        Protected,
        "<service>",
        "what each router leaves of the providers now",
    ),
    Command::new(
        "gracefulShutdown",
        Verb::GracefulShutdown,
        Private,
        "",
        "tell consumers to go elsewhere and leave the registries, without stopping",
    ),
    Command::new("help", Verb::Help, Protected, "[command]", "the commands"),
    Command::new(
        "invoke",
        Verb::Invoke,
        Protected,
        "<service>.<method>(<JSON>, ...)",
        "call a service of this program",
    ),
    Command::new(
        "live",
        Verb::Live,
        Public,
        "",
        "whether the program works at all",
    ),
    Command::new(
        "loggerInfo",
        Verb::LoggerInfo,
        Protected,
        "",
        "what is logged, where and how",
    ),
    Command::new(
        "ls",
        Verb::Ls,
        Protected,
        "",
        "what is provided and what is called",
    ),
    Command::new(
        "metrics",
        Verb::Metrics,
        Protected,
        "[application]",
        "what was counted, as Prometheus reads it",
    ),
    Command::new(
        "offline",
        Verb::Offline,
        Protected,
        "[pattern] [registry]",
        "take services out of the registries; they are still served",
    ),
    Command::new(
        "offlineApp",
        Verb::OfflineApp,
        Protected,
        "[pattern] [registry]",
        "the same, only with the application",
    ),
    Command::new(
        "offlineInterface",
        Verb::OfflineInterface,
        Protected,
        "[pattern] [registry]",
        "the same, only by their interfaces",
    ),
    Command::new(
        "online",
        Verb::Online,
        Protected,
        "[pattern] [registry]",
        "put services into the registries again",
    ),
    Command::new(
        "onlineApp",
        Verb::OnlineApp,
        Protected,
        "[pattern] [registry]",
        "the same, only with the application",
    ),
    Command::new(
        "onlineInterface",
        Verb::OnlineInterface,
        Protected,
        "[pattern] [registry]",
        "the same, only by their interfaces",
    ),
    Command::new(
        "ps",
        Verb::Ps,
        Protected,
        "[-l] [port]",
        "the ports that are served at, or who is connected to one",
    ),
    Command::new(
        "publishMetadata",
        Verb::PublishMetadata,
        Protected,
        "[seconds]",
        "tell the registries anew what is provided, now or later",
    ),
    Command::new("quit", Verb::Quit, Public, "", "hang up"),
    Command::new(
        "ready",
        Verb::Ready,
        Public,
        "",
        "whether calls may be sent here",
    ),
    Command::new(
        "serializeCheckStatus",
        Verb::SerializeCheckStatus,
        Protected,
        "",
        "which classes of hessian2 may become Rust types",
    ),
    Command::new(
        "serializeWarnedClasses",
        Verb::SerializeWarnedClasses,
        Protected,
        "",
        "the classes that peers sent and that are not allowed",
    ),
    Command::new(
        "shutdown",
        Verb::Shutdown,
        Protected,
        "[-t milliseconds]",
        "end the program without losing a call",
    ),
    Command::new(
        "startup",
        Verb::Startup,
        Public,
        "",
        "whether the program has started",
    ),
    Command::new(
        "switchLogLevel",
        Verb::SwitchLogLevel,
        Protected,
        "<level>",
        "log from this level on: trace to error, or 1 to 5",
    ),
    Command::new(
        "version",
        Verb::Version,
        Protected,
        "",
        "the version of the framework",
    ),
];

/// Commands of Dubbo Java that are not here, and why.
pub(super) const NOT_HERE: [(&str, &str); 10] = [
    (
        "cd",
        "there is no current service: `invoke`, `count` and the others are told which one",
    ),
    ("disableDetailProfiler", PROFILER),
    ("disableSimpleProfiler", PROFILER),
    ("enableDetailProfiler", PROFILER),
    ("enableSimpleProfiler", PROFILER),
    ("metrics_default", "`metrics` has all numbers"),
    ("pwd", "there is no current service"),
    ("select", "`invoke` finds the method by the arguments"),
    ("setProfilerWarnPercent", PROFILER),
    (
        "switchLogger",
        "there is one logger, `tracing`, and no other to change to; `loggerInfo` tells of it",
    ),
];

const PROFILER: &str = "a call has no thread of its own whose time could be told; `otel.tracing` has the times of calls and attempts";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_found_in_any_case_and_the_others_are_named() {
        for (name, want) in [("ls", Ok("ls")), ("OFFLINEapp", Ok("offlineApp"))] {
            let found = Command::named(name).map(|command| command.name);
            assert_eq!(found, want);
        }
        for (name, want) in [
            (
                "offlin",
                "there is no command `offlin` (did you mean `offline`?); `help` lists those that there are",
            ),
            (
                "",
                "there is no command ``; `help` lists those that there are",
            ),
            (
                "pwd",
                "the command `pwd` of Dubbo Java is not supported: there is no current service",
            ),
        ] {
            let failure = Command::named(name).map(|command| command.name);
            assert_eq!(failure, Err(Failure::NotFound(want.to_owned())));
        }
    }

    #[test]
    fn no_name_is_there_twice() {
        let mut names: Vec<_> = COMMANDS.iter().map(|command| command.name).collect();
        names.extend(NOT_HERE.iter().map(|(name, _)| *name));
        names.sort_unstable();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
