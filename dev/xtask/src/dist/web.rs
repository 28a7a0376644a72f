//! The Homebrew formula and the Dockerfile of the small image, which fetch the archives.

use std::process::Command;

use anyhow::Context;

use super::archive::archive_name;
use super::target::SHIPPED;
use super::{Release, read_output, write_file};

const FORMULA: &str = include_str!("../../../../packaging/homebrew/kitbag.rb");
const DOCKERFILE: &str = include_str!("../../../../packaging/Dockerfile.static");

/// Needs the address of the archives, and all of them.
pub(super) fn write_formula(
    release: &Release<'_>,
    archives: &[String],
) -> anyhow::Result<Option<String>> {
    let Some(url) = &release.options.url else {
        println!(
            "no Homebrew formula: it needs `--url BASE`, the folder that the archives will be in"
        );
        return Ok(None);
    };
    let mut sums = Vec::new();
    for triple in SHIPPED {
        let archive = archive_name(release, triple);
        if !archives.contains(&archive) {
            println!("no Homebrew formula: it needs {archive}");
            return Ok(None);
        }
        sums.push((sum_file(release, &archive)?, archive));
    }
    let formula = fill_formula(&release.fill_version(FORMULA), url, &sums);
    write_file(&release.options.out.join("kitbag.rb"), &formula)?;
    Ok(Some("kitbag.rb".to_owned()))
}

/// The archives are in the order of [`SHIPPED`].
fn fill_formula(template: &str, url: &str, archives: &[(String, String)]) -> String {
    let mut formula = template.replace("@URL@", url);
    for ((sum, archive), name) in archives.iter().zip(["X86_64", "AARCH64"]) {
        formula = formula
            .replace(&format!("@{name}_SHA256@"), sum)
            .replace(&format!("@{name}@"), archive);
    }
    formula
}

fn sum_file(release: &Release<'_>, name: &str) -> anyhow::Result<String> {
    let mut sha256sum = Command::new("sha256sum");
    let printed = read_output(sha256sum.arg(name).current_dir(&release.options.out))?;
    let (sum, _) = printed
        .split_once(' ')
        .context("sha256sum printed no sum")?;
    Ok(sum.to_owned())
}

pub(super) fn write_dockerfile(release: &Release<'_>) -> anyhow::Result<String> {
    let path = release.options.out.join("Dockerfile");
    write_file(&path, &release.fill_version(DOCKERFILE))?;
    Ok("Dockerfile".to_owned())
}

#[cfg(test)]
mod tests {
    use super::{FORMULA, fill_formula};

    #[test]
    fn the_formula_names_each_archive_next_to_its_sum() {
        let archives = ["intel", "arm"].map(|it| (format!("sum-{it}"), format!("{it}.tar.gz")));
        let formula = fill_formula(FORMULA, "https://example.com/releases", &archives);
        for name in ["intel", "arm"] {
            let lines = format!(
                "    url \"https://example.com/releases/{name}.tar.gz\"\n    sha256 \"sum-{name}\"\n"
            );
            assert!(formula.contains(&lines), "{formula}");
        }
        assert!(!formula.replace("@VERSION@", "").contains('@'), "{formula}");
    }
}
