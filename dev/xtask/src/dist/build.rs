//! The binaries, and the manual pages and completions that a binary writes about itself.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use xtask::{cargo, processes};

use super::target::Target;
use super::{Release, copy_file, read_output, write_file};

/// A stripped binary for one target.
#[derive(Debug)]
pub(super) struct Build {
    pub(super) target: Target,
    pub(super) binary: PathBuf,
}

/// Builds every target, and has a binary write the pages and completions that all packages share.
pub(super) fn build_binaries(release: &Release<'_>) -> anyhow::Result<Vec<Build>> {
    let options = &release.options;
    if options.binary.is_none() {
        // All toolchains are checked first, because a build takes long.
        options.targets.iter().try_for_each(check_toolchain)?;
    }
    let mut builds = Vec::new();
    for target in &options.targets {
        let binary = release.staging.join(&target.triple).join("kitbag");
        match &options.binary {
            Some(built) => strip_copy(built, &binary)?,
            None => copy_file(&build_binary(release, target)?, &binary)?,
        }
        builds.push(Build {
            target: target.clone(),
            binary,
        });
    }
    write_pages_and_completions(release, &builds)?;
    Ok(builds)
}

fn strip_copy(built: &Path, to: &Path) -> anyhow::Result<()> {
    copy_file(built, to)?;
    processes::run(Command::new("strip").arg(to))
}

/// Another target needs its standard library, and for the C code in the binary a C compiler.
fn check_toolchain(target: &Target) -> anyhow::Result<()> {
    let triple = target.triple.as_str();
    let mut rustc = Command::new("rustc");
    let folder = read_output(rustc.args(["--print", "target-libdir", "--target", triple]))?;
    ensure!(
        Path::new(&folder).is_dir(),
        "Rust's standard library for {triple} is missing; install it with: rustup target add {triple}"
    );
    if host_triple()? == triple {
        return Ok(());
    }
    ensure!(
        processes::exists("cargo-zigbuild"),
        "building for {triple} needs cargo-zigbuild: cargo install --locked cargo-zigbuild"
    );
    let mut module = Command::new("python3");
    module.args(["-m", "ziglang", "version"]);
    ensure!(
        processes::exists("zig") || read_output(&mut module).is_ok(),
        "building for {triple} needs Zig: python3 -m pip install ziglang"
    );
    Ok(())
}

/// Returns the path of the binary. The profile strips it.
fn build_binary(release: &Release<'_>, target: &Target) -> anyhow::Result<PathBuf> {
    let triple = target.triple.as_str();
    let verb = match host_triple()? == triple {
        true => "build",
        false => "zigbuild",
    };
    let arguments = ["--locked", "--profile=dist", "--package=kitbag", "--target"];
    let command = [&[verb], &arguments[..], &[triple]].concat();
    cargo::run(release.repository, &command)?;
    Ok(release.repository.shipped_program(triple, "kitbag"))
}

fn host_triple() -> anyhow::Result<String> {
    let version = read_output(Command::new("rustc").arg("-vV"))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("`rustc -vV` names no host")?.to_owned())
}

fn write_pages_and_completions(release: &Release<'_>, builds: &[Build]) -> anyhow::Result<()> {
    let kitbag = runnable_binary(release, builds)?;
    let mut man = Command::new(&kitbag);
    read_output(man.args(["man", "--dir"]).arg(release.man_pages()))?;
    for (shell, name) in [
        ("bash", "kitbag.bash"),
        ("zsh", "_kitbag"),
        ("fish", "kitbag.fish"),
    ] {
        let script = read_output(Command::new(&kitbag).args(["completions", shell]))?;
        // A script runs the program that wrote it, which is not where a package puts it.
        let path = kitbag.to_str().context("the build path is not text")?;
        ensure!(script.contains(path), "the {shell} script names no program");
        let script = script.replace(path, "kitbag") + "\n";
        write_file(&release.completions().join(name), &script)?;
    }
    Ok(())
}

/// Returns a binary for this machine, of the same version.
fn runnable_binary(release: &Release<'_>, builds: &[Build]) -> anyhow::Result<PathBuf> {
    let here = builds.iter().find(|it| it.target.runs_here());
    let path = match here {
        Some(build) => build.binary.clone(),
        None => build_binary(release, &Target::from_triple(&host_triple()?)?)?,
    };
    path.canonicalize()
        .with_context(|| format!("finding {}", path.display()))
}
