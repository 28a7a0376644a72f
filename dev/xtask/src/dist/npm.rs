//! The npm packages: one with the binary for each platform, and `kitbag`, which starts the right one.

use std::path::Path;
use std::process::Command;

use super::build::Build;
use super::{Release, copy_file, open_permissions, read_output, write_file};

const PACKAGE: &str = include_str!("../../../../packaging/npm/package.json");
const PLATFORM: &str = include_str!("../../../../packaging/npm/platform.json");

pub(super) fn pack_platform(release: &Release<'_>, build: &Build) -> anyhow::Result<String> {
    let cpu = build.target.architecture.npm;
    let root = release.staging.join("npm").join(cpu);
    let package = PLATFORM.replace("@CPU@", cpu);
    copy_file(&build.binary, &root.join("bin/kitbag"))?;
    pack(release, &root, &package)
}

pub(super) fn pack_launcher(release: &Release<'_>) -> anyhow::Result<String> {
    let root = release.staging.join("npm/kitbag");
    release.copy_source("packaging/npm/kitbag.js", &root.join("bin/kitbag.js"))?;
    release.copy_source("README.md", &root.join("README.md"))?;
    pack(release, &root, PACKAGE)
}

fn pack(release: &Release<'_>, root: &Path, package: &str) -> anyhow::Result<String> {
    write_file(&root.join("package.json"), &release.fill_version(package))?;
    release.copy_source("LICENSE", &root.join("LICENSE"))?;
    open_permissions(root)?;
    let mut npm = Command::new("npm");
    npm.args(["pack", "--silent", "--ignore-scripts", "--pack-destination"])
        .arg(&release.options.out);
    // A folder as an argument could be taken for the name of a package.
    read_output(npm.current_dir(root))
}
