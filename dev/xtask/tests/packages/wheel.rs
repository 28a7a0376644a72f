//! The Python wheel, with pip and with uv.

use crate::scene::{Scene, VERSION, files, run, tools};

#[test]
#[ignore = "needs cargo xtask setup"]
fn a_wheel_works_with_pip_and_uv_and_leaves_nothing() {
    let scene = Scene::make("wheel");
    let wheel = scene.package("kitbag-", ".whl");
    let environment = scene.prefix();
    let mut venv = scene.command("python3");
    run(venv.args(["-m", "venv"]).arg(&environment));
    // Compiled on first use, these would look like files of ours.
    let python = |words: &[&str]| {
        let mut python = scene.command(environment.join("bin/python"));
        python.args(words).env("PYTHONDONTWRITEBYTECODE", "1");
        python
    };
    let before = files(&environment);
    let install = ["-m", "pip", "install", "--no-index", "--no-compile"];
    run(python(&install).arg(&wheel));
    scene.check_use(&environment.join("bin/kitbag"));
    let version = format!("kitbag {VERSION}\n");
    assert_eq!(run(&mut python(&["-m", "kitbag", "--version"])), version);
    let mut wrong = python(&["-m", "kitbag", "no-such-verb"]);
    assert_eq!(wrong.output().unwrap().status.code(), Some(2));
    run(&mut python(&["-m", "pip", "uninstall", "--yes", "kitbag"]));
    assert_eq!(files(&environment), before);

    let mut uvx = scene.command(tools().join("python/desk/bin/uvx"));
    uvx.args(["--offline", "--no-python-downloads", "--from"])
        .arg(&wheel)
        .args(["kitbag", "--version"]);
    assert_eq!(run(&mut uvx), version);
}
