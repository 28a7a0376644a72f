//! Checks that the paths, functions and headings in documents exist.

use std::path::{Component, Path, PathBuf};

use crate::{root, texts};

#[test]
fn every_path_a_document_names_exists() {
    let begins = [
        ".cargo/",
        ".ci/",
        "catalog/",
        "crates/",
        "dev/",
        "docs/",
        "packaging/",
        "training/",
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
        let files = links(text).filter_map(|target| target.split('#').next());
        files
            .filter(|file| !file.is_empty())
            .map(PathBuf::from)
            .collect()
    });
}

#[test]
fn every_link_to_a_heading_finds_it() {
    let texts = texts();
    let mut missing = Vec::new();
    for (path, text) in texts.iter().filter(|(path, _)| path.ends_with(".md")) {
        for (file, heading) in links(text).filter_map(|target| target.split_once('#')) {
            let target = match file {
                "" => path.clone(),
                _ => plain(&Path::new(path).with_file_name(file))
                    .display()
                    .to_string(),
            };
            let linked = texts.iter().find(|(other, _)| *other == target);
            if !linked.is_some_and(|(_, text)| anchors(text).iter().any(|anchor| anchor == heading))
            {
                missing.push(format!("{path} links to `{file}#{heading}`"));
            }
        }
    }
    assert!(missing.is_empty(), "\n{}", missing.join("\n"));
}

/// A newcomer reads a README, not a manual; the manual is in `docs`.
const MAX_README_LINES: usize = 200;

#[test]
fn the_readme_is_short_and_says_how_to_start_and_how_to_test() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let lines = readme.lines().count();
    assert!(lines <= MAX_README_LINES, "the README has {lines} lines");
    for command in ["cargo run --release -- demo", "cargo xtask test"] {
        let block = format!("```sh\n{command}\n```");
        assert!(readme.contains(&block), "the README lacks `{command}`");
    }
}

#[test]
fn every_page_of_the_guide_is_linked_from_the_readme() {
    let texts = texts();
    let (_, readme) = texts.iter().find(|(path, _)| path == "README.md").unwrap();
    let pages = texts.iter().map(|(path, _)| path);
    let unlinked: Vec<_> = pages
        .filter(|path| path.starts_with("docs/") && path.ends_with(".md"))
        .filter(|path| !path.starts_with(PAGES_OF_TOOLS) || path.ends_with("/README.md"))
        .filter(|path| !readme.contains(&format!("]({path})")))
        .collect();
    assert!(unlinked.is_empty(), "{unlinked:?}");
}

/// One page per tool; a separate page lists them.
const PAGES_OF_TOOLS: &str = "docs/tools/";

#[test]
fn every_page_of_a_tool_is_linked_from_the_list_of_tools() {
    let texts = texts();
    let (_, list) = texts
        .iter()
        .find(|(path, _)| path == "docs/tools/README.md")
        .unwrap();
    let pages = texts
        .iter()
        .filter_map(|(path, _)| path.strip_prefix(PAGES_OF_TOOLS));
    let unlinked: Vec<_> = pages
        .filter(|page| *page != "README.md" && !list.contains(&format!("]({page})")))
        .collect();
    assert!(unlinked.is_empty(), "{unlinked:?}");
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

/// The targets of all links inside the repository.
fn links(text: &str) -> impl Iterator<Item = &str> {
    text.split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next())
        .filter(|target| !target.contains("://"))
}

/// GitHub's anchors of the headings of a document: lower case, dashes for spaces, no punctuation.
fn anchors(text: &str) -> Vec<String> {
    text.lines()
        .filter(|line| line.starts_with('#'))
        .map(|line| line.trim_start_matches('#').trim().to_lowercase())
        .map(|heading| {
            heading
                .replace(' ', "-")
                .replace(|c: char| !c.is_alphanumeric() && c != '-' && c != '_', "")
        })
        .collect()
}

/// Checks the files that every document refers to; links are relative to the document, and paths in
/// the text to the root.
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

/// Resolves `..` in a path.
fn plain(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut plain, part| {
        match part {
            Component::ParentDir => drop(plain.pop()),
            other => plain.push(other),
        }
        plain
    })
}
