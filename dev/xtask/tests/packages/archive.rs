//! The archive: unpacked anywhere, it is complete.

use std::fs;

use crate::scene::{Scene, VERSION, run};

#[test]
#[ignore = "needs cargo xtask setup"]
fn the_archive_is_complete_and_its_checksum_holds() {
    let scene = Scene::make("archive");
    let mut sums = scene.command("sha256sum");
    sums.args(["--check", "SHA256SUMS"])
        .current_dir(scene.out());
    assert!(run(&mut sums).ends_with(".tar.gz: OK\n"));

    let archive = scene.package("kitbag-", ".tar.gz");
    let unpack = ["--strip-components=1", "--directory=prefix", "-xzf"];
    run(scene.command("tar").args(unpack).arg(archive));
    let kitbag = scene.prefix().join("kitbag");
    scene.check_use(&kitbag);

    for file in ["LICENSE", "README.md", "man/kitbag.1", "man/kitbag-serve.1"] {
        assert!(scene.prefix().join(file).is_file(), "{file}");
    }
    let page = fs::read_to_string(scene.prefix().join("man/kitbag.1")).unwrap();
    assert!(page.contains(VERSION), "{page}");
    // As if Tab were pressed after `kitbag heal`, with the program in the PATH.
    let tab = "PATH=$PWD/prefix:$PATH; . prefix/completions/kitbag.bash; COMP_LINE='kitbag heal'
        COMP_WORDS=(kitbag heal) COMP_CWORD=1; _kitbag kitbag heal kitbag; echo ${COMPREPLY[@]}";
    let completed = run(scene.command("bash").args(["-c", tab]));
    assert_eq!(completed.trim(), "health");
    for script in ["_kitbag", "kitbag.fish"] {
        let script = scene.prefix().join("completions").join(script);
        assert!(fs::read_to_string(script).unwrap().contains(" kitbag -- "));
    }
}
