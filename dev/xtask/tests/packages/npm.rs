//! The npm packages: the launcher finds the binary, passes on what it does, and explains its absence.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::scene::{Scene, files, run};

#[test]
#[ignore = "needs cargo xtask setup"]
fn the_npm_packages_start_the_program_and_leave_nothing() {
    let scene = Scene::make("npm");
    let launcher = scene.package("kitbag-0", ".tgz");
    let platform = scene.package("kitbag-linux-", ".tgz");
    npm(&scene, &["install"], &[&launcher, &platform]);
    let kitbag = scene.prefix().join("bin/kitbag");
    scene.check_use(&kitbag);

    let wrong = scene.command(&kitbag).arg("no-such-verb").output().unwrap();
    assert_eq!(wrong.status.code(), Some(2));
    check_signal(scene.command(&kitbag));
    check_other_platform(&scene);

    let name = fs::read_dir(scene.prefix().join("lib/node_modules/@kitbag")).unwrap();
    let name = name.map(|entry| entry.unwrap().file_name()).next().unwrap();
    let names = [PathBuf::from("kitbag"), PathBuf::from("@kitbag").join(name)];
    npm(&scene, &["uninstall"], &[&names[0], &names[1]]);
    assert_eq!(files(&scene.prefix()), BTreeSet::new());

    npm(&scene, &["install", "--omit=optional"], &[&launcher]);
    let output = scene.command(&kitbag).output().unwrap();
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        complaint.contains("is missing; install again without --omit=optional"),
        "{complaint}"
    );
}

#[track_caller]
fn npm(scene: &Scene, words: &[&str], packages: &[&PathBuf]) {
    let mut npm = scene.command("npm");
    npm.args(words).args(packages).args([
        "--global",
        "--offline",
        "--no-audit",
        "--no-fund",
        "--prefix",
    ]);
    npm.arg(scene.prefix());
    run(&mut npm);
}

/// A gateway ends with the launcher that its client stops, and the client sees why.
#[track_caller]
fn check_signal(mut kitbag: Command) {
    let mut serving = kitbag
        .args(["serve", "--bind", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut printed = BufReader::new(serving.stdout.take().unwrap());
    let mut line = String::new();
    printed.read_line(&mut line).unwrap();
    assert!(line.starts_with("Kitbag serves"), "{line}");
    run(Command::new("kill").arg(serving.id().to_string()));
    let status = serving.wait().unwrap();
    // The gateway has the other end of this pipe, so reading ends when it does.
    printed.read_to_string(&mut line).unwrap();
    assert!(
        status.success() || status.signal() == Some(15),
        "{status}: {line}"
    );
}

#[track_caller]
fn check_other_platform(scene: &Scene) {
    let pretend = "Object.defineProperty(process, 'arch', { value: 'mips' });
        require('./lib/node_modules/kitbag/bin/kitbag.js')";
    let mut node = scene.command("node");
    node.args(["-e", pretend]).current_dir(scene.prefix());
    let output = node.output().unwrap();
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        complaint,
        "kitbag: there is no package for linux-mips; there is one for linux-arm64 and linux-x64\n"
    );
}
