//! Installs the requirements of the end-to-end tests: real servers, real clients, the official
//! suite.
//!
//! Every version is pinned under `dev/xtask/tools`. A stamp records the installed pins, so that a
//! second run only compares two strings.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use crate::repository::Repository;
use crate::{postgres, processes};

pub fn run(repository: &Repository) -> anyhow::Result<()> {
    postgres::install()?;
    install_browser()?;
    if cfg!(not(all(target_os = "linux", target_arch = "x86_64"))) {
        bail!("the end-to-end tests are pinned to Node for Linux on x86-64");
    }
    let wanted = Pins::read(&repository.pins())?;
    let tools = repository.tools();
    let stamp = tools.join("installed");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted.stamp()) {
        println!("{} is up to date", tools.display());
        return Ok(());
    }
    fs::create_dir_all(&tools).with_context(|| format!("creating {}", tools.display()))?;
    // Removed first: an interrupted installation must not look like a finished one.
    let _ = fs::remove_file(&stamp);
    machine_has("npm", &["npm"])?;
    machine_has("python3", &["python3", "python3-venv"])?;
    install_node_packages(&repository.pins(), &tools)?;
    for environment in ENVIRONMENTS {
        install_python_packages(repository, environment)?;
    }
    install_for_newcomers(repository)?;
    fs::write(&stamp, wanted.stamp()).with_context(|| format!("writing {}", stamp.display()))
}

/// The tests of pages need Chromium, and `certutil` to add their certificate authority.
fn install_browser() -> anyhow::Result<()> {
    match processes::exists("chromium") && processes::exists("certutil") {
        true => Ok(()),
        false => install_system_packages("chromium", &["chromium", "libnss3-tools"]),
    }
}

/// Additional servers for one benchmark.
pub fn everyday_servers(repository: &Repository) -> anyhow::Result<PathBuf> {
    let folder = repository.tools().join("everyday");
    if !folder.join("node_modules").is_dir() {
        fs::create_dir_all(&folder).with_context(|| format!("creating {}", folder.display()))?;
        install_node_packages(&repository.pins().join("everyday"), &folder)?;
    }
    Ok(folder)
}

/// Three for the servers and clients, because they need different `mcp` libraries, one for programs
/// that users have on their machines, and one for the imitation of Amazon's services.
const ENVIRONMENTS: [&str; 5] = ["client", "servers", "sqlite", "desk", "moto"];

/// The text of every file with a version.
struct Pins(Vec<String>);

impl Pins {
    fn read(folder: &Path) -> anyhow::Result<Self> {
        let requirements = ENVIRONMENTS.map(requirements);
        let names = ["package.json", "package-lock.json"]
            .into_iter()
            .chain(requirements.iter().map(String::as_str));
        names
            .map(|name| read_pin(&folder.join(name)))
            .collect::<anyhow::Result<_>>()
            .map(Self)
    }

    fn stamp(&self) -> String {
        self.0.concat()
    }
}

fn read_pin(path: &Path) -> anyhow::Result<String> {
    fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))
}

fn requirements(environment: &str) -> String {
    format!("requirements-{environment}.txt")
}

fn install_node_packages(pins: &Path, tools: &Path) -> anyhow::Result<()> {
    for name in ["package.json", "package-lock.json"] {
        fs::copy(pins.join(name), tools.join(name)).with_context(|| format!("copying {name}"))?;
    }
    println!("installing Node packages into {}", tools.display());
    // Engine warnings are about the machine's Node; the packages run with the one installed here.
    let mut npm = Command::new("npm");
    npm.args([
        "ci",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--loglevel=error",
    ])
    .current_dir(tools);
    processes::run(&mut npm)
}

/// Installs into a separate environment, with exactly its pinned versions.
pub fn install_python_packages(repository: &Repository, environment: &str) -> anyhow::Result<()> {
    let folder = repository.tools().join("python").join(environment);
    println!("installing Python packages into {}", folder.display());
    let mut venv = Command::new("python3");
    venv.args(["-m", "venv", "--clear"]).arg(&folder);
    if processes::run(&mut venv).is_err() {
        // Debian splits `venv` off and its python3 only says so when it is used.
        install_system_packages("python3 -m venv", &["python3-venv"])?;
        processes::run(&mut venv)?;
    }
    let mut pip = Command::new(folder.join("bin/python"));
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
        "--requirement",
    ]);
    processes::run(pip.arg(repository.pins().join(requirements(environment))))
}

/// Makes `uvx mcp-server-time` work without a network, as it does for a user who has run it before.
fn install_for_newcomers(repository: &Repository) -> anyhow::Result<()> {
    let folder = repository.tools().join("uv");
    println!("installing with uv into {}", folder.display());
    let mut uv = Command::new(repository.tools().join("python/desk/bin/uv"));
    uv.args([
        "tool",
        "install",
        "--quiet",
        "--force",
        "mcp-server-time",
        "--constraints",
    ]);
    uv.arg(repository.pins().join(requirements("servers")));
    uv.env("UV_TOOL_DIR", folder.join("tools"))
        .env("UV_TOOL_BIN_DIR", folder.join("bin"));
    processes::run(uv.env("UV_PYTHON_DOWNLOADS", "never"))
}

fn machine_has(program: &str, packages: &[&str]) -> anyhow::Result<()> {
    if processes::exists(program) {
        Ok(())
    } else {
        install_system_packages(program, packages)
    }
}

pub(crate) fn install_system_packages(missing: &str, packages: &[&str]) -> anyhow::Result<()> {
    let advice = format!(
        "`{missing}` does not work here; install {} and try again",
        packages.join(" and ")
    );
    if !processes::exists("apt-get") || !is_root() {
        bail!(advice);
    }
    println!("installing {} with apt-get", packages.join(" and "));
    processes::run(apt_get().args(["update", "--quiet"])).context(advice.clone())?;
    let mut install = apt_get();
    install
        .args(["install", "--yes", "--quiet", "--no-install-recommends"])
        .args(packages);
    processes::run(&mut install).context(advice)
}

fn apt_get() -> Command {
    let mut command = Command::new("apt-get");
    command.env("DEBIAN_FRONTEND", "noninteractive");
    command
}

pub(crate) fn is_root() -> bool {
    fs::read_to_string("/proc/self/status").is_ok_and(|status| {
        status
            .lines()
            .any(|line| line.starts_with("Uid:") && line.split_whitespace().nth(2) == Some("0"))
    })
}
