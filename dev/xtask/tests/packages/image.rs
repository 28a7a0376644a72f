//! The Dockerfile of the small image. The tests have no Docker, so only its text is checked.

use std::fs;
use std::path::Path;

use crate::scene::{Scene, VERSION, run, tools};

#[test]
#[ignore = "needs cargo xtask setup"]
fn the_small_image_runs_kitbag_as_the_large_one_does() {
    let scene = Scene::make("image");
    let hadolint = tools().join("python/desk/bin/hadolint");
    run(scene.command(hadolint).arg(scene.out().join("Dockerfile")));
    let small = fs::read_to_string(scene.out().join("Dockerfile")).unwrap();
    let large = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/Dockerfile");
    let large = fs::read_to_string(large).unwrap();
    assert!(!small.contains('@'), "{small}");
    assert!(
        small.contains(&format!(
            "COPY kitbag-{VERSION}-*-unknown-linux-musl.tar.gz "
        )),
        "{small}"
    );
    // The tests of the command line check the commands of the large one.
    let same = [
        "USER",
        "WORKDIR",
        "VOLUME",
        "EXPOSE",
        "HEALTHCHECK",
        "ENTRYPOINT",
        "CMD",
    ];
    for name in same {
        let line = |text: &str| {
            let found = text
                .lines()
                .rfind(|line| line.split(' ').next() == Some(name));
            found.unwrap_or_else(|| panic!("no {name}")).to_owned()
        };
        assert_eq!(line(&small), line(&large));
    }
}
