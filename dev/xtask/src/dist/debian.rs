//! The Debian package: the program, and a systemd service for the whole machine.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};
use xtask::processes;

use super::build::Build;
use super::{Release, copy_file, open_permissions, read_output, write_file};

const CONTROL: &str = include_str!("../../../../packaging/debian/control");
const CHANGELOG: &str = include_str!("../../../../packaging/debian/changelog");
const SCRIPTS: [(&str, &str); 3] = [
    (
        "postinst",
        include_str!("../../../../packaging/debian/postinst"),
    ),
    ("prerm", include_str!("../../../../packaging/debian/prerm")),
    (
        "postrm",
        include_str!("../../../../packaging/debian/postrm"),
    ),
];
const UNIT: &str = include_str!("../../../../packaging/systemd/kitbag.service");
/// Files that are installed as they are.
const FILES: [(&str, &str); 4] = [
    ("packaging/debian/kitbag.toml", "etc/kitbag/kitbag.toml"),
    (
        "packaging/debian/sysusers.conf",
        "usr/lib/sysusers.d/kitbag.conf",
    ),
    (
        "packaging/debian/tmpfiles.conf",
        "usr/lib/tmpfiles.d/kitbag.conf",
    ),
    (
        "packaging/debian/copyright",
        "usr/share/doc/kitbag/copyright",
    ),
];
/// Where each shell looks for completions.
const COMPLETIONS: [(&str, &str); 3] = [
    (
        "kitbag.bash",
        "usr/share/bash-completion/completions/kitbag",
    ),
    ("_kitbag", "usr/share/zsh/vendor-completions/_kitbag"),
    (
        "kitbag.fish",
        "usr/share/fish/vendor_completions.d/kitbag.fish",
    ),
];

pub(super) fn pack_deb(release: &Release<'_>, build: &Build) -> anyhow::Result<String> {
    let architecture = build.target.architecture.debian_name();
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
    write_file(
        &root.join("usr/lib/systemd/system/kitbag.service"),
        &system_unit()?,
    )?;
    for (source, installed) in FILES {
        release.copy_source(source, &root.join(installed))?;
    }
    for (script, installed) in COMPLETIONS {
        copy_file(&release.completions().join(script), &root.join(installed))?;
    }
    let changes = root.join("usr/share/doc/kitbag/CHANGELOG.md");
    release.copy_source("CHANGELOG.md", &changes)?;
    let log = changes.with_file_name("changelog");
    write_file(&log, &fill_changelog(release)?)?;
    let man = root.join("usr/share/man");
    fs::create_dir_all(&man).with_context(|| format!("creating {}", man.display()))?;
    let pages = man.join("man1");
    let mut copy = Command::new("cp");
    processes::run(copy.arg("-r").args([&release.man_pages(), &pages]))?;
    let mut gzip = Command::new("gzip");
    processes::run(gzip.args(["-9nr"]).args([&changes, &log, &pages]))
}

fn fill_changelog(release: &Release<'_>) -> anyhow::Result<String> {
    let mut date = Command::new("date");
    let date = date.args(["--rfc-email", "--utc", "--date"]);
    let date = read_output(date.arg(format!("@{}", release.epoch)).env("LC_ALL", "C"))?;
    Ok(release.fill_version(CHANGELOG).replace("@DATE@", &date))
}

/// The unit of the repository, for a user who stays: data and keys can be managed as that user.
fn system_unit() -> anyhow::Result<String> {
    let start = UNIT.find("[Unit]").context("the unit has a section")?;
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
        .replace("@ARCHITECTURE@", build.target.architecture.debian_name())
        .replace("@SIZE@", size)
        .replace("Depends: @DEPENDS@\n", build.target.debian_dependencies());
    let folder = root.join("DEBIAN");
    write_file(&folder.join("control"), &control)?;
    write_file(&folder.join("conffiles"), "/etc/kitbag/kitbag.toml\n")?;
    let mut sums = Command::new("sh");
    let listing = "find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum";
    let sums = read_output(sums.args(["-c", listing]).current_dir(root))?;
    write_file(&folder.join("md5sums"), &(sums + "\n"))?;
    for (name, text) in SCRIPTS {
        write_file(&folder.join(name), text)?;
    }
    open_permissions(&folder)?;
    for (name, _) in SCRIPTS {
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(folder.join(name), executable)
            .with_context(|| format!("making {name} executable"))?;
    }
    Ok(())
}
