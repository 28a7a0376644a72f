//! The Debian package: the program, and a systemd service for the whole machine.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};
use xtask::processes;

use super::build::Build;
use super::{Release, copy_file, create_parent, open_permissions, read_output, write_file};

const CONTROL: &str = include_str!("../../../../packaging/debian/control");
const CHANGELOG: &str = include_str!("../../../../packaging/debian/changelog");
const UNIT: &str = include_str!("../../../../packaging/systemd/kitbag.service");
const SCRIPTS: [&str; 3] = ["postinst", "prerm", "postrm"];

/// Where each file of the repository is installed.
const FILES: &str = "
    packaging/debian/copyright      usr/share/doc/kitbag/copyright
    packaging/debian/kitbag.toml    etc/kitbag/kitbag.toml
    packaging/debian/sysusers.conf  usr/lib/sysusers.d/kitbag.conf
    packaging/debian/tmpfiles.conf  usr/lib/tmpfiles.d/kitbag.conf
    CHANGELOG.md                    usr/share/doc/kitbag/CHANGELOG.md";

/// Where each shell looks for completions.
const COMPLETIONS: &str = "
    kitbag.bash  usr/share/bash-completion/completions/kitbag
    _kitbag      usr/share/zsh/vendor-completions/_kitbag
    kitbag.fish  usr/share/fish/vendor_completions.d/kitbag.fish";

pub(super) fn pack_deb(release: &Release<'_>, build: &Build) -> anyhow::Result<String> {
    let architecture = build.target.architecture.debian;
    let name = format!("kitbag_{}_{architecture}.deb", release.version);
    let root = release.staging.join("deb").join(architecture);
    install_files(release, build, &root)?;
    open_permissions(&root)?;
    write_control(release, build, &root)?;
    let mut dpkg_deb = Command::new("dpkg-deb");
    dpkg_deb
        .args(["--root-owner-group", "--build"])
        .args([&root, &release.options.out.join(&name)]);
    read_output(dpkg_deb.env("SOURCE_DATE_EPOCH", &release.epoch))?;
    Ok(name)
}

fn install_files(release: &Release<'_>, build: &Build, root: &Path) -> anyhow::Result<()> {
    copy_file(&build.binary, &root.join("usr/bin/kitbag"))?;
    let unit = root.join("usr/lib/systemd/system/kitbag.service");
    write_file(&unit, &system_unit()?)?;
    for (source, installed) in rows(FILES) {
        release.copy_source(source, &root.join(installed))?;
    }
    for (script, installed) in rows(COMPLETIONS) {
        copy_file(&release.completions().join(script), &root.join(installed))?;
    }
    let documents = root.join("usr/share/doc/kitbag");
    write_file(&documents.join("changelog"), &fill_changelog(release)?)?;
    let pages = root.join("usr/share/man/man1");
    create_parent(&pages)?;
    let mut copy = Command::new("cp");
    processes::run(copy.arg("-r").args([&release.man_pages(), &pages]))?;
    let mut gzip = Command::new("sh");
    let compress = "gzip -9n man/man1/* doc/kitbag/CHANGELOG.md doc/kitbag/changelog";
    let share = root.join("usr/share");
    processes::run(gzip.args(["-c", compress]).current_dir(share))
}

fn rows(table: &str) -> impl Iterator<Item = (&str, &str)> {
    let rows = table.lines().filter_map(|row| row.trim().split_once(' '));
    rows.map(|(source, installed)| (source, installed.trim_start()))
}

fn fill_changelog(release: &Release<'_>) -> anyhow::Result<String> {
    let mut date = Command::new("date");
    let date = date.args(["--rfc-email", "--utc", "--date"]);
    let date = read_output(date.arg(format!("@{}", release.epoch)).env("LC_ALL", "C"))?;
    Ok(release.fill_version(CHANGELOG).replace("@DATE@", &date))
}

/// The repository's unit, with a permanent user instead of a dynamic one, so that an operator can
/// manage data and keys as that user.
fn system_unit() -> anyhow::Result<String> {
    let start = UNIT
        .find("[Unit]")
        .context("the unit has no section [Unit]")?;
    let mut unit = UNIT[start..].to_owned();
    for (from, to) in [
        ("/usr/local/bin/kitbag", "/usr/bin/kitbag"),
        (
            "# The user exists only while the service runs, and owns these folders.\nDynamicUser=yes",
            "# The package creates this user, who owns these folders.\nUser=kitbag\nGroup=kitbag",
        ),
    ] {
        ensure!(unit.contains(from), "the unit lacks `{from}`");
        unit = unit.replace(from, to);
    }
    Ok(unit)
}

fn write_control(release: &Release<'_>, build: &Build, root: &Path) -> anyhow::Result<()> {
    let mut du = Command::new("du");
    let measured = read_output(du.args(["-sk", "--apparent-size"]).arg(root))?;
    let size = measured.split_whitespace().next().unwrap_or_default();
    let control = release
        .fill_version(CONTROL)
        .replace("@ARCHITECTURE@", build.target.architecture.debian)
        .replace("@SIZE@", size)
        .replace("Depends: @DEPENDS@\n", build.target.debian_dependencies());
    let folder = root.join("DEBIAN");
    write_file(&folder.join("control"), &control)?;
    write_file(&folder.join("conffiles"), "/etc/kitbag/kitbag.toml\n")?;
    let mut sums = Command::new("sh");
    let listing = "find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum";
    let sums = read_output(sums.args(["-c", listing]).current_dir(root))?;
    write_file(&folder.join("md5sums"), &(sums + "\n"))?;
    for name in SCRIPTS {
        release.copy_source(&format!("packaging/debian/{name}"), &folder.join(name))?;
    }
    open_permissions(&folder)?;
    let mut chmod = Command::new("chmod");
    processes::run(chmod.arg("755").args(SCRIPTS).current_dir(folder))
}
