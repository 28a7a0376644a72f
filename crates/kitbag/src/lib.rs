//! The program: the command line, serving, following the configuration, and joining the gateway
//! that runs.

pub mod cli;
mod import;
mod key_check;
mod local;
mod reload;
mod serving;
mod trail;
