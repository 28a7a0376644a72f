//! `cargo xtask dist`: makes every package from one build.
//!
//! # Layout
//! - [`options`]: its command line; [`target`]: the platforms
//! - [`build`]: the binaries, and their manual pages and completions
//! - [`archive`], [`debian`], [`wheel`], [`npm`], [`web`]: the packages
//! - [`sbom`]: the packages that a binary is linked from

mod archive;
mod build;
mod debian;
mod npm;
mod options;
mod sbom;
mod target;
mod web;
mod wheel;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use xtask::processes;
use xtask::repository::Repository;

use options::{Kind, Options};

pub(crate) fn run(repository: &Repository, words: &[&str]) -> anyhow::Result<()> {
    let options = Options::parse(repository, words)?;
    let release = Release::prepare(repository, options)?;
    let names = make_packages(&release)?;
    write_checksums(&release, &names)?;
    fs::remove_dir_all(&release.staging).context("removing the staging folder")?;
    for name in &names {
        println!("{}", release.options.out.join(name).display());
    }
    Ok(())
}

/// Returns the names of the files in the output folder.
fn make_packages(release: &Release<'_>) -> anyhow::Result<Vec<String>> {
    let wants = |kind| release.options.wants(kind);
    let mut names = Vec::new();
    if wants(Kind::Sbom) {
        names.push(sbom::write_bill(release)?);
    }
    let builds = match release.options.needs_binaries() {
        true => build::build_binaries(release)?,
        false => Vec::new(),
    };
    let mut archives = Vec::new();
    for build in &builds {
        if wants(Kind::Archive) || wants(Kind::Formula) {
            archives.push(archive::pack_archive(release, build)?);
        }
        if wants(Kind::Deb) {
            names.push(debian::pack_deb(release, build)?);
        }
        if wants(Kind::Wheel) {
            names.push(wheel::pack_wheel(release, build)?);
        }
        if wants(Kind::Npm) {
            names.push(npm::pack_platform(release, build)?);
        }
    }
    if wants(Kind::Npm) {
        names.push(npm::pack_launcher(release)?);
    }
    if wants(Kind::Formula) {
        names.extend(web::write_formula(release, &archives)?);
    }
    if wants(Kind::Image) {
        names.push(web::write_dockerfile(release)?);
    }
    names.extend(archives);
    names.sort();
    Ok(names)
}

/// One version of Kitbag, on its way into packages.
#[derive(Debug)]
struct Release<'a> {
    repository: &'a Repository,
    options: Options,
    version: &'static str,
    /// The time of every file in the packages, so that the same source gives the same packages.
    epoch: String,
    staging: PathBuf,
}

impl<'a> Release<'a> {
    fn prepare(repository: &'a Repository, options: Options) -> anyhow::Result<Self> {
        let version = env!("CARGO_PKG_VERSION");
        if version.contains(['-', '+']) {
            bail!("{version} is a pre-release, which each kind of package spells in its own way");
        }
        let staging = options.out.join(".staging");
        if staging.exists() {
            fs::remove_dir_all(&staging).context("emptying the staging folder")?;
        }
        fs::create_dir_all(&staging).with_context(|| format!("creating {}", staging.display()))?;
        Ok(Self {
            epoch: source_epoch(repository)?,
            repository,
            options,
            version,
            staging,
        })
    }

    /// Copies a file of the repository.
    fn copy_source(&self, path: &str, to: &Path) -> anyhow::Result<()> {
        copy_file(&self.repository.root().join(path), to)
    }

    fn read_source(&self, path: &str) -> anyhow::Result<String> {
        let path = self.repository.root().join(path);
        fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))
    }

    fn fill_version(&self, template: &str) -> String {
        template.replace("@VERSION@", self.version)
    }

    fn man_pages(&self) -> PathBuf {
        self.staging.join("man")
    }

    fn completions(&self) -> PathBuf {
        self.staging.join("completions")
    }
}

/// The time of the commit, unless the variable that packagers use says otherwise.
fn source_epoch(repository: &Repository) -> anyhow::Result<String> {
    if let Ok(epoch) = std::env::var("SOURCE_DATE_EPOCH") {
        return Ok(epoch);
    }
    let mut log = Command::new("git");
    log.args(["log", "-1", "--format=%ct"]);
    read_output(log.current_dir(repository.root()))
        .context("finding the time of the commit; outside of git, set SOURCE_DATE_EPOCH")
}

fn write_checksums(release: &Release<'_>, names: &[String]) -> anyhow::Result<()> {
    let mut sha256sum = Command::new("sha256sum");
    let sums = read_output(sha256sum.args(names).current_dir(&release.options.out))?;
    write_file(&release.options.out.join("SHA256SUMS"), &(sums + "\n"))
}

/// Runs a command that must succeed, and returns its trimmed stdout.
fn read_output(command: &mut Command) -> anyhow::Result<String> {
    let line = processes::command_line(command);
    let output = command
        .output()
        .with_context(|| format!("starting `{line}`"))?;
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        bail!("`{line}` ended with {}\n{complaint}", output.status);
    }
    let text = String::from_utf8(output.stdout).with_context(|| format!("reading `{line}`"))?;
    Ok(text.trim_end().to_owned())
}

/// Parent directories are created.
fn write_file(path: &Path, text: &str) -> anyhow::Result<()> {
    create_parent(path)?;
    fs::write(path, text).with_context(|| format!("writing {}", path.display()))
}

/// Parent directories are created.
fn copy_file(from: &Path, to: &Path) -> anyhow::Result<()> {
    create_parent(to)?;
    fs::copy(from, to)
        .map(drop)
        .with_context(|| format!("copying {} to {}", from.display(), to.display()))
}

fn create_parent(path: &Path) -> anyhow::Result<()> {
    let folder = path.parent().context("the path has no folder")?;
    fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))
}

/// The permissions of an ordinary system, whatever the umask here is.
fn open_permissions(folder: &Path) -> anyhow::Result<()> {
    processes::run(
        Command::new("chmod")
            .args(["-R", "u=rwX,go=rX"])
            .arg(folder),
    )
}
