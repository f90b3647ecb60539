//! What `docs/spec/config.md` §10 asks for, from the configuration to its effect: functions `config_aNN_…` by the numbers
//! there. Probes, telemetry, operators and reloading are tested where they are.

mod calls;
mod center;
mod files;
mod identity;
mod rig;
mod samples;
mod tls;
