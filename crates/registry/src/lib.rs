//! Reads entries of the MCP registry, and plans how to launch the servers in them.
//!
//! The entries are written by strangers: they are data, and only a user decides to run them.
//!
//! # Layout
//! - `client`: requests to the registry; `error`: its errors
//! - `name`, `entry`, `server`: the answers as types; an invalid entry does not affect the others
//! - `rank`: sorts entries by how well they match
//! - `choose`: chooses the best way to run a server on this machine
//! - `plan`: a command or an address with gaps; `text`, `launch`, `address`, `input`: its parts

mod address;
mod choose;
mod client;
mod entry;
mod error;
mod input;
mod launch;
mod name;
mod plan;
mod rank;
mod server;
mod text;

pub use choose::{ChoiceError, RunKind, UnknownRunKind, choose, offered_kinds};
pub use client::Registry;
pub use entry::{EntryStatus, RegistryEntry};
pub use error::RegistryError;
pub use input::{InputFormat, PlanAnswers, PlanInput, WrongAnswer};
pub use name::{EntryName, EntryNameError};
pub use plan::{FilledPlan, PlanError, RunPlan};
pub use server::{Package, RegistryRemote, RegistryServer, RemoteKind, SourceRepository};
