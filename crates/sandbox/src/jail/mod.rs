//! The jail that a worker puts itself into, layer by layer, before it sees a program.
//!
//! Each layer would stop most attacks by itself; another layer covers a hole in it.

#[cfg(target_os = "linux")]
mod limits;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
mod system_calls;

use std::fmt;

use serde::{Deserialize, Serialize};

#[cfg(not(target_os = "linux"))]
pub(crate) use elsewhere::close;
#[cfg(target_os = "linux")]
pub(crate) use linux::close;

/// The only variable of a worker: its dates are in UTC whatever the machine's zone, and the C
/// library looks for no zone file.
pub(crate) const TIME_ZONE: (&str, &str) = ("TZ", "UTC0");

/// A layer of the jail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JailLayer {
    /// Only the pipe to the gateway is open.
    Descriptors,
    /// No variable of the gateway is visible.
    Environment,
    /// Other processes of this user can neither trace the worker nor read its memory.
    Undumpable,
    /// The worker ends with the gateway.
    ParentDeath,
    /// A worker run by root has none of root's capabilities.
    Capabilities,
    /// No file can be opened, no address connected to.
    Landlock,
    /// Memory, processor time, files and processes are limited.
    Limits,
    /// No program can give the worker more rights.
    NoNewPrivileges,
    /// Any system call that a worker does not need kills it.
    Seccomp,
}

/// The state of one layer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerReport {
    pub layer: JailLayer,
    /// The reason why the layer is missing; absent if it holds.
    pub missing: Option<String>,
}

impl JailLayer {
    /// In closing order: a later one takes away something that an earlier one needs.
    pub const ALL: [Self; 9] = [
        Self::Descriptors,
        Self::Environment,
        Self::Undumpable,
        Self::ParentDeath,
        Self::Capabilities,
        Self::Landlock,
        Self::Limits,
        Self::NoNewPrivileges,
        Self::Seccomp,
    ];
}

impl fmt::Display for JailLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Descriptors => "closed files",
            Self::Environment => "empty environment",
            Self::Undumpable => "no tracing",
            Self::ParentDeath => "end with the gateway",
            Self::Capabilities => "no capabilities",
            Self::Landlock => "Landlock",
            Self::Limits => "resource limits",
            Self::NoNewPrivileges => "no new privileges",
            Self::Seccomp => "seccomp",
        })
    }
}

impl fmt::Display for LayerReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.missing {
            None => write!(f, "{}: holds", self.layer),
            Some(reason) => write!(f, "{}: missing ({reason})", self.layer),
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use super::{JailLayer, LayerReport};
    use crate::protocol::JailLimits;

    pub(crate) fn close(_: &[JailLayer], _: JailLimits) -> Vec<LayerReport> {
        JailLayer::ALL.map(missing_layer).to_vec()
    }

    fn missing_layer(layer: JailLayer) -> LayerReport {
        LayerReport {
            layer,
            missing: Some("only Linux has it".to_owned()),
        }
    }
}
