//! The Python wheel: the binary as a script, and a module that runs it.

use std::process::Command;

use super::build::Build;
use super::{Release, copy_file, read_output, write_file};

const METADATA: &str = include_str!("../../../../packaging/python/METADATA");
const MAKE_WHEEL: &str = include_str!("../../../../packaging/python/make_wheel.py");

pub(super) fn pack_wheel(release: &Release<'_>, build: &Build) -> anyhow::Result<String> {
    let version = release.version;
    let platforms = build.target.wheel_platforms();
    let name = format!("kitbag-{version}-py3-none-{}.whl", platforms.join("."));
    let root = release.staging.join("wheel").join(&build.target.triple);
    let scripts = root.join(format!("kitbag-{version}.data/scripts"));
    copy_file(&build.binary, &scripts.join("kitbag"))?;
    for module in ["__init__.py", "__main__.py"] {
        let source = format!("packaging/python/{module}");
        release.copy_source(&source, &root.join("kitbag").join(module))?;
    }
    let info = root.join(format!("kitbag-{version}.dist-info"));
    release.copy_source("LICENSE", &info.join("licenses/LICENSE"))?;
    write_file(&info.join("WHEEL"), &wheel_file(version, &platforms))?;
    let description = release.read_source("README.md")?;
    let metadata = release.fill_version(METADATA) + &description;
    write_file(&info.join("METADATA"), &metadata)?;
    let mut python = Command::new("python3");
    python
        .args(["-c", MAKE_WHEEL])
        .arg(release.options.out.join(&name))
        .arg(&root);
    read_output(python.arg(&release.epoch))?;
    Ok(name)
}

fn wheel_file(version: &str, platforms: &[String]) -> String {
    let head =
        format!("Wheel-Version: 1.0\nGenerator: kitbag-xtask {version}\nRoot-Is-Purelib: false\n");
    let tags = platforms.iter().map(|it| format!("Tag: py3-none-{it}\n"));
    head + &tags.collect::<String>()
}
