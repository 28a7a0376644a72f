//! A worker that attacks its own jail if a program asks for it, for the sandbox tests.
//!
//! A program that begins with `//attack name` is not run. Instead, the worker makes the attack of
//! that name and returns its outcome. Other programs run normally.

#[cfg(target_os = "linux")]
mod old_kernel;
mod pipe;
#[cfg(target_os = "linux")]
mod system;

use std::io;
use std::process::ExitCode;

use kitbag_sandbox::{JailLayer, worker};

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    if let Some(layer) = missing_layer() {
        old_kernel::simulate_missing(&layer).expect("the kernel takes the filter");
        return worker::main_with(&JailLayer::ALL, attack);
    }
    worker::main_with(&layers(), attack)
}

/// The layer that the simulated kernel lacks.
#[cfg(target_os = "linux")]
fn missing_layer() -> Option<String> {
    let argument = std::env::args().nth(1)?;
    argument.strip_prefix("without ").map(str::to_owned)
}

/// The layers to close: all, none, or the one in the program's argument.
fn layers() -> Vec<JailLayer> {
    match std::env::args().nth(1).as_deref() {
        None => JailLayer::ALL.to_vec(),
        Some(name) => JailLayer::ALL
            .into_iter()
            .filter(|layer| layer.to_string() == name)
            .collect(),
    }
}

fn attack(program: &str) -> Option<String> {
    let name = program.lines().next()?.strip_prefix("//attack ")?;
    let all = SYSTEM.iter().chain(pipe::ATTACKS);
    let (_, attack) = all.into_iter().find(|(other, _)| *other == name)?;
    Some(match attack() {
        Ok(()) => "succeeded".to_owned(),
        Err(error) => format!("refused: {error}"),
    })
}

#[cfg(target_os = "linux")]
use system::ATTACKS as SYSTEM;
#[cfg(not(target_os = "linux"))]
const SYSTEM: &[Attack] = &[];

/// The name of an attack, and its function.
type Attack = (&'static str, fn() -> io::Result<()>);
