//! The Debian package, in a root of its own.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::scene::{Scene, exists, files, run};

#[test]
#[ignore = "needs dpkg and root"]
fn a_debian_package_leaves_its_data_until_it_is_purged() {
    if !exists("dpkg") || run(Command::new("id").arg("-u")) != "0\n" {
        eprintln!("not checked: dpkg installs as root only");
        return;
    }
    let scene = Scene::make("deb");
    let root = scene.prefix();
    for folder in ["info", "updates", "triggers"] {
        fs::create_dir_all(root.join("var/lib/dpkg").join(folder)).unwrap();
    }
    fs::write(root.join("var/lib/dpkg/status"), "").unwrap();

    let package = scene.package("kitbag_", ".deb");
    dpkg(&scene, &["--install", package.to_str().unwrap()]);
    scene.check_use(&root.join("usr/bin/kitbag"));
    check_configuration(&scene);
    check_unit(&scene);
    assert!(root.join("usr/share/man/man1/kitbag-serve.1.gz").is_file());
    if exists("systemd-sysusers") {
        assert!(read(&root.join("etc/passwd")).contains("kitbag:"));
        fs::write(root.join("var/lib/kitbag/kitbag.db"), "data").unwrap();
    }
    if exists("systemctl") {
        let mut enable = scene.command("systemctl");
        run(enable
            .arg("--root")
            .arg(&root)
            .args(["enable", "kitbag.service"]));
    }

    dpkg(&scene, &["--remove", "kitbag"]);
    let left = ours(&root);
    assert!(
        left.contains(&"etc/kitbag/kitbag.toml".to_owned()),
        "{left:?}"
    );
    assert!(
        !left.iter().any(|path| path.starts_with("usr/")),
        "{left:?}"
    );
    assert!(
        !left.iter().any(|path| path.ends_with(".service")),
        "{left:?}"
    );
    if exists("systemd-sysusers") {
        assert!(
            left.contains(&"var/lib/kitbag/kitbag.db".to_owned()),
            "{left:?}"
        );
    }

    dpkg(&scene, &["--purge", "kitbag"]);
    assert_eq!(ours(&root), Vec::<String>::new());
    for file in ["etc/passwd", "etc/group"] {
        assert_eq!(read(&root.join(file)), "", "{file}");
    }
}

/// The root has no other package, so dependencies are missing there, and scripts run outside.
#[track_caller]
fn dpkg(scene: &Scene, words: &[&str]) {
    let mut dpkg = scene.command("dpkg");
    dpkg.arg("--root").arg(scene.prefix());
    dpkg.args(["--force-script-chrootless", "--force-depends"]);
    run(dpkg.args(words));
}

#[track_caller]
fn check_configuration(scene: &Scene) {
    let root = scene.prefix();
    let mut check = scene.command(root.join("usr/bin/kitbag"));
    check.args(["config", "check", "--config"]);
    let verdict = run(check.arg(root.join("etc/kitbag/kitbag.toml")));
    assert!(verdict.contains("is valid"), "{verdict}");
}

/// Without systemd there is nothing to check.
#[track_caller]
fn check_unit(scene: &Scene) {
    let unit = read(&scene.prefix().join("usr/lib/systemd/system/kitbag.service"));
    assert!(unit.contains("User=kitbag\n") && !unit.contains("DynamicUser"));
    if exists("systemd-analyze") {
        let program = scene.prefix().join("usr/bin/kitbag");
        let path = scene.home().join("kitbag.service");
        fs::write(
            &path,
            unit.replace("/usr/bin/kitbag", program.to_str().unwrap()),
        )
        .unwrap();
        let mut verify = scene.command("systemd-analyze");
        run(verify.args(["verify", "--man=no"]).arg(path));
    }
}

/// The files of the package, the user's data included.
fn ours(root: &Path) -> Vec<String> {
    let paths = files(root)
        .into_iter()
        .map(|path| path.display().to_string());
    paths
        .filter(|path| path.contains("kitbag") && !path.starts_with("var/lib/dpkg/"))
        .collect()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}
