//! The command line at a terminal: first run, prompts, progress, help, completion, tables, and running
//! Kitbag as a service.

#![expect(clippy::unwrap_used, reason = "a test says so by failing")]

mod asking;
mod first_run;
mod help;
mod hostile_text;
mod packaging;
mod progress;
mod reading;
mod service;
mod shell;
mod tables;
mod terminal;
