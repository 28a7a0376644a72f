//! The archive: the binary, its pages and its completions, to unpack anywhere.

use std::process::Command;

use xtask::processes;

use super::build::Build;
use super::{Release, copy_file, open_permissions};

pub(super) fn archive_name(release: &Release<'_>, triple: &str) -> String {
    format!("kitbag-{}-{triple}.tar.gz", release.version)
}

pub(super) fn pack_archive(release: &Release<'_>, build: &Build) -> anyhow::Result<String> {
    let name = archive_name(release, &build.target.triple);
    let folder = name.trim_end_matches(".tar.gz");
    let root = release.staging.join("archive").join(folder);
    copy_file(&build.binary, &root.join("kitbag"))?;
    for file in ["LICENSE", "README.md"] {
        release.copy_source(file, &root.join(file))?;
    }
    for folder in [release.man_pages(), release.completions()] {
        processes::run(Command::new("cp").arg("-r").args([&folder, &root]))?;
    }
    open_permissions(&root)?;
    let mut tar = Command::new("tar");
    tar.args(["--create", "--gzip", "--format=ustar", "--sort=name"])
        .args(["--owner=root:0", "--group=root:0"])
        .arg(format!("--mtime=@{}", release.epoch))
        .arg("--file")
        .arg(release.options.out.join(&name))
        .arg("--directory")
        .arg(release.staging.join("archive"));
    processes::run(tar.arg(folder))?;
    Ok(name)
}
