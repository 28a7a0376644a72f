//! The command line at a terminal: the first run, questions, waiting, help, completion, tables, and
//! what it takes to let Kitbag run as a service.

#![expect(clippy::unwrap_used, reason = "a test says so by failing")]

mod asking;
mod first_run;
#[path = "../guide/mod.rs"]
mod guide;
mod help;
#[path = "../home/mod.rs"]
mod home;
mod packaging;
mod progress;
mod reading;
mod service;
mod shell;
mod tables;
mod terminal;

fn testbed() -> String {
    let path = std::path::Path::new(env!("CARGO_BIN_EXE_kitbag")).with_file_name("kitbag-testbed");
    assert!(path.exists(), "run `cargo build --workspace` first");
    path.to_str().expect("build paths are text").to_owned()
}
