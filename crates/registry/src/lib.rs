//! Reads entries of the MCP registry, and plans how to launch the servers in them.
//!
//! A stranger has written the whole entry: it is data, and only a person decides to run it.
//!
//! # Layout
//! - `client`: asks the registry; `error`: its errors
//! - `name`, `entry`, `server`: the answers as types; one odd entry does not spoil the others
//! - `rank`: sorts entries by how well they match
//! - `choose`: chooses the way to run a server that fits this machine
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
