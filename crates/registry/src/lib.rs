//! What the MCP registry knows of a server, and how that becomes something to launch.
//!
//! Everything an entry says was written by a stranger: it is data, and only a person decides to
//! run it.
//!
//! # Layout
//! - `client`: the registry's API, and what can go wrong with it in `error`
//! - `name`, `entry`, `server`: what it answers, as types; one odd entry does not spoil the others
//! - `rank`: the best match first
//! - `choose`: which of the ways to run a server fits this machine
//! - `plan`: the way as a command or an address with gaps; `text`, `launch`, `address`,
//!   `input`: its parts

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

pub use choose::{ChoiceError, Kind, UnknownKind, choose, kinds};
pub use client::Registry;
pub use entry::{Entry, Status};
pub use error::RegistryError;
pub use input::{Answers, Format, Input, WrongAnswer};
pub use name::{EntryName, EntryNameError};
pub use plan::{Filled, Plan, PlanError};
pub use server::{Package, Remote, RemoteKind, Repository, Server};
