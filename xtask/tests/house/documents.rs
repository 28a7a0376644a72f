//! What the documents point at exists.

use std::path::{Component, Path, PathBuf};

use crate::{root, texts};

#[test]
fn every_path_a_document_names_exists() {
    let begins = [
        ".cargo/",
        ".ci/",
        "bench/",
        "crates/",
        "docs/",
        "packaging/",
        "training/",
        "xtask/",
    ];
    check(|text| {
        let quoted = text.split('`').skip(1).step_by(2);
        quoted
            .filter(|word| begins.iter().any(|begin| word.starts_with(begin)))
            .map(PathBuf::from)
            .collect()
    });
}

#[test]
fn every_link_between_documents_leads_somewhere() {
    check(|text| {
        let targets = text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next());
        let inside = targets.filter(|target| !target.contains("://") && !target.starts_with('#'));
        inside
            .map(|target| PathBuf::from(target.split('#').next().unwrap_or_default()))
            .collect()
    });
}

#[test]
fn every_function_a_document_finds_in_a_file_is_there() {
    let mut missing = Vec::new();
    for (path, text) in texts().iter().filter(|(path, _)| path.ends_with(".md")) {
        for (file, names) in text
            .split("`crates/")
            .skip(1)
            .filter_map(|rest| rest.split_once("` (`"))
        {
            let Ok(source) = std::fs::read_to_string(root().join("crates").join(file)) else {
                continue;
            };
            let names = names
                .split(')')
                .next()
                .unwrap_or_default()
                .split(['`', ',', ' ']);
            for name in names
                .filter_map(|name| name.rsplit("::").next())
                .filter(|name| !name.is_empty())
            {
                if !source.contains(name) {
                    missing.push(format!("{path} finds `{name}` in `crates/{file}`"));
                }
            }
        }
    }
    assert!(missing.is_empty(), "\n{}", missing.join("\n"));
}

/// Asks of every document which files it names; links are read from where the document lies,
/// and paths in the text from the root.
#[track_caller]
fn check(named: impl Fn(&str) -> Vec<PathBuf>) {
    let mut missing = Vec::new();
    for (path, text) in texts().iter().filter(|(path, _)| path.ends_with(".md")) {
        let folder = Path::new(path).parent().unwrap();
        for file in named(text) {
            if !root().join(&file).exists() && !root().join(plain(&folder.join(&file))).exists() {
                missing.push(format!("{path} names `{}`", file.display()));
            }
        }
    }
    assert!(missing.is_empty(), "\n{}", missing.join("\n"));
}

/// Without the detours through `..`.
fn plain(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut plain, part| {
        match part {
            Component::ParentDir => drop(plain.pop()),
            other => plain.push(other),
        }
        plain
    })
}
