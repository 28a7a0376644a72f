//! Rules for every file of the repository.
//!
//! Forbidden strings are written in two halves, so that this file passes its own checks.

use crate::{root, texts};

/// A longer file has more than one subject.
const MAX_LINES: usize = 500;

#[test]
fn no_source_file_is_too_long_to_be_read_in_one_go() {
    check_sources(|text| {
        let lines = text.lines().count();
        (lines > MAX_LINES)
            .then(|| format!("{lines} lines; split it by subject, at most {MAX_LINES}"))
    });
}

#[test]
fn every_source_file_begins_with_a_sentence_about_it() {
    check_sources(|text| {
        (!text.starts_with("//! ")).then(|| "the first line must be a `//!` sentence".to_owned())
    });
}

#[test]
fn a_lint_is_expected_with_a_reason_and_never_allowed() {
    check_sources(|text| {
        let silenced =
            text.contains(concat!("#[al", "low(")) || text.contains(concat!("#![al", "low("));
        silenced.then(|| {
            concat!(
                "write #[expect(lint, reason = \"…\")] instead of #[al",
                "low]"
            )
            .to_owned()
        })
    });
}

#[test]
fn no_file_names_a_registry_or_a_folder_of_one_machine() {
    let here = format!("{}/", root().display());
    check(|_, text| {
        let found = ELSEWHERE
            .iter()
            .copied()
            .chain([here.as_str()])
            .find(|word| text.contains(word))?;
        Some(format!(
            "`{found}` belongs in the configuration of one machine"
        ))
    });
}

const ELSEWHERE: [&str; 9] = [
    concat!("registry.", "npmjs"),
    concat!("pypi.", "org"),
    concat!("files.", "pythonhosted"),
    concat!("index.", "crates.io"),
    concat!("static.", "crates.io"),
    concat!("/ro", "ot/"),
    concat!("/wo", "rk/"),
    concat!("/Us", "ers/"),
    concat!("../sh", "ared"),
];

#[test]
fn lock_files_leave_the_registry_to_the_machine() {
    let usual = "source = \"registry+https://github.com/rust-lang/crates.io-index\"";
    check(|path, text| match path.rsplit('/').next() {
        Some("Cargo.lock") => {
            let other = text
                .lines()
                .find(|line| line.starts_with("source = ") && *line != usual)?;
            Some(format!("`{other}` comes from elsewhere"))
        }
        Some("package-lock.json") => {
            let resolved = text
                .lines()
                .find(|line| line.trim_start().starts_with("\"resolved\""))?;
            Some(format!("`{}` names a registry", resolved.trim()))
        }
        Some(name) if name.starts_with("requirements") => {
            let option = text
                .lines()
                .find(|line| line.starts_with("--") || line.contains("://"))?;
            Some(format!("`{option}` names a registry"))
        }
        _ => None,
    });
}

/// Runs `wrong` on every Rust file and fails with its complaints.
#[track_caller]
fn check_sources(wrong: impl Fn(&str) -> Option<String>) {
    check(|path, text| wrong(text).filter(|_| path.ends_with(".rs")));
}

#[track_caller]
fn check(wrong: impl Fn(&str, &str) -> Option<String>) {
    let complaints: Vec<String> = texts()
        .iter()
        .filter_map(|(path, text)| Some(format!("{path}: {}", wrong(path, text)?)))
        .collect();
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}
