//! The verbs of the command line, through the real binary.
//!
//! # Layout
//! - [`servers`]: `kitbag servers`
//! - [`tools`]: `kitbag tools`, `kitbag describe` and `kitbag call`
//! - [`keys_and_secrets`]: `kitbag key` and `kitbag secret`
//! - [`configuration`]: files, variables and flags

mod configuration;
#[path = "../home/mod.rs"]
mod home;
mod keys_and_secrets;
mod servers;
mod tools;

/// The path of the server that the tests launch.
fn testbed() -> String {
    let path = std::path::Path::new(env!("CARGO_BIN_EXE_kitbag")).with_file_name("kitbag-testbed");
    assert!(path.exists(), "run `cargo build --workspace` first");
    path.to_str().expect("build paths are text").to_owned()
}
