//! The `kitbag` program: command line, serving, configuration reload, and joining the running gateway.

pub mod cli;
mod import;
mod key_check;
mod local;
mod pages;
mod reload;
mod serving;
mod trail;
