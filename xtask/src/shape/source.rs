//! Finds the production files of each crate and parses them, without what is compiled for tests.

use std::collections::BTreeSet;
use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use anyhow::Context;
use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

/// Packages of the workspace that serve tests, chores and benchmarks.
const NOT_PRODUCTION: [&str; 7] = [
    "crates/support",
    "crates/test-support",
    "crates/testbed",
    "crates/testkit",
    "xtask",
    "bench",
    "bench/load",
];

#[derive(Debug)]
pub struct Package {
    /// The folder's path, without `crates/`.
    pub name: String,
    pub is_production: bool,
    pub files: Vec<SourceFile>,
}

/// One file of production code.
#[derive(Debug)]
pub struct SourceFile {
    /// From the root of the checkout.
    pub path: String,
    /// The path from the package's `src`, such as `front/mod.rs`.
    pub inside: String,
    /// All lines except those of items that only tests have, each with its number.
    pub lines: Vec<(usize, String)>,
    /// The file without items that only tests have.
    pub tokens: TokenStream,
    pub syntax: syn::File,
}

/// All packages that have a `src` folder.
pub fn packages(root: &Path) -> anyhow::Result<Vec<Package>> {
    let mut folders: BTreeSet<String> = NOT_PRODUCTION.map(str::to_owned).into();
    for entry in fs::read_dir(root.join("crates")).context("reading the folder `crates`")? {
        folders.insert(format!("crates/{}", entry?.file_name().to_string_lossy()));
    }
    folders
        .iter()
        .filter(|folder| root.join(folder).join("src").is_dir())
        .map(|folder| package(root, folder))
        .collect()
}

fn package(root: &Path, folder: &str) -> anyhow::Result<Package> {
    let src = root.join(folder).join("src");
    let mut files = Vec::new();
    let mut only_for_tests = Vec::new();
    for path in rust_files(&src)? {
        let (file, test_modules) =
            read(root, &src, &path).with_context(|| format!("reading {}", path.display()))?;
        only_for_tests.extend(test_modules);
        files.push(file);
    }
    files.retain(|file| {
        let path = root.join(&file.path);
        !only_for_tests
            .iter()
            .any(|module| path.starts_with(module) || path == module.with_extension("rs"))
    });
    Ok(Package {
        name: folder.trim_start_matches("crates/").to_owned(),
        is_production: !NOT_PRODUCTION.contains(&folder),
        files,
    })
}

fn rust_files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(rust_files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// The file, and where the modules lie that it declares for tests only.
fn read(root: &Path, src: &Path, path: &Path) -> anyhow::Result<(SourceFile, Vec<PathBuf>)> {
    let text = fs::read_to_string(path)?;
    let tokens: TokenStream = text
        .parse()
        .map_err(|error| anyhow::anyhow!("it is no Rust: {error}"))?;
    let mut removed = Removed::default();
    let tokens = without_tests(tokens, &mut removed);
    let syntax = syn::parse2(tokens.clone())?;
    let lines = text
        .lines()
        .enumerate()
        .map(|(at, line)| (at + 1, line.to_owned()))
        .filter(|(at, _)| !removed.lines.iter().any(|range| range.contains(at)))
        .collect();
    let file = SourceFile {
        path: path.strip_prefix(root)?.to_string_lossy().into_owned(),
        inside: path.strip_prefix(src)?.to_string_lossy().into_owned(),
        lines,
        tokens,
        syntax,
    };
    let beside = folder_of_children(path);
    let modules = removed.modules.iter().map(|name| beside.join(name));
    Ok((file, modules.collect()))
}

/// The folder in which a file's child modules lie.
fn folder_of_children(path: &Path) -> PathBuf {
    let is_root = ["mod.rs", "lib.rs", "main.rs"]
        .iter()
        .any(|name| path.ends_with(name));
    if is_root {
        path.with_file_name("")
    } else {
        path.with_extension("")
    }
}

/// The parts of a file that only tests have.
#[derive(Default)]
struct Removed {
    lines: Vec<RangeInclusive<usize>>,
    modules: Vec<String>,
}

/// The tokens without each item, field or arm under `#[cfg(test)]`.
fn without_tests(tokens: TokenStream, removed: &mut Removed) -> TokenStream {
    let all: Vec<TokenTree> = tokens.into_iter().collect();
    let mut kept: Vec<TokenTree> = Vec::new();
    let mut at = 0;
    while let Some(token) = all.get(at) {
        if is_test_attribute(&all[at..]) {
            // Attributes before this one belong to the item, too; they do no harm where they are
            // documentation, and this repository writes `#[cfg(test)]` first.
            let length = item_length(&all[at..]);
            let item = &all[at..at + length];
            removed.lines.push(line_of(&item[0])..=last_line_of(item));
            removed.modules.extend(module_elsewhere(item));
            at += length;
            continue;
        }
        kept.push(match token {
            TokenTree::Group(group) => inside_group(group, removed).into(),
            other => other.clone(),
        });
        at += 1;
    }
    kept.into_iter().collect()
}

fn inside_group(group: &Group, removed: &mut Removed) -> Group {
    let mut inner = Group::new(group.delimiter(), without_tests(group.stream(), removed));
    inner.set_span(group.span());
    inner
}

fn is_test_attribute(tokens: &[TokenTree]) -> bool {
    match tokens {
        [TokenTree::Punct(hash), TokenTree::Group(attribute), ..] if hash.as_char() == '#' => {
            let text = attribute.stream().to_string().replace(' ', "");
            text == "cfg(test)" || text.starts_with("cfg(all(test,")
        }
        _ => false,
    }
}

/// The number of tokens up to where the item ends: at `;`, at `,`, or with its body in braces.
fn item_length(tokens: &[TokenTree]) -> usize {
    let mut braces_end_it = true;
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Ident(word)
                if ["use", "const", "static", "let"]
                    .iter()
                    .any(|keyword| word == keyword) =>
            {
                // `const fn` ends with its body after all.
                braces_end_it =
                    matches!(tokens.get(at + 1), Some(TokenTree::Ident(next)) if next == "fn");
            }
            TokenTree::Punct(mark) if mark.as_char() == ';' => return at + 1,
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace && braces_end_it => {
                return at + 1;
            }
            _ => {}
        }
    }
    tokens.len()
}

/// The name in `mod name;`, a module whose text is in another file.
fn module_elsewhere(item: &[TokenTree]) -> Option<String> {
    match item {
        [
            ..,
            TokenTree::Ident(keyword),
            TokenTree::Ident(name),
            TokenTree::Punct(_),
        ] if keyword == "mod" => Some(name.to_string()),
        _ => None,
    }
}

fn line_of(token: &TokenTree) -> usize {
    token.span().start().line
}

fn last_line_of(item: &[TokenTree]) -> usize {
    item.last().map_or(0, |token| token.span().end().line)
}

#[cfg(test)]
mod tests {
    use super::{Removed, without_tests};

    #[test]
    fn what_only_tests_have_is_cut_out() {
        check(
            "fn a() {} #[cfg(test)] mod tests { fn b() {} }",
            "fn a() {}",
        );
        check("#[cfg(test)] use a::{b, c}; fn d() {}", "fn d() {}");
        check("#[cfg(test)] const fn e() {} fn f() {}", "fn f() {}");
        check(
            "impl G { #[cfg(test)] fn h() {} fn i() {} }",
            "impl G { fn i() {} }",
        );
        check("#[cfg(unix)] fn j() {}", "#[cfg(unix)] fn j() {}");
    }

    #[test]
    fn a_module_of_tests_in_another_file_is_named() {
        let mut removed = Removed::default();
        without_tests(
            "#[cfg(test)] mod anything; mod b;".parse().unwrap(),
            &mut removed,
        );
        assert_eq!(removed.modules, ["anything"]);
    }

    #[track_caller]
    fn check(text: &str, kept: &str) {
        let found = without_tests(text.parse().unwrap(), &mut Removed::default());
        let expected: proc_macro2::TokenStream = kept.parse().unwrap();
        assert_eq!(found.to_string(), expected.to_string());
    }
}
