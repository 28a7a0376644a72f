//! The knot of modules in the gateway, and the places where a request loads the catalog.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::source::SourceFile;

/// The crate whose modules are looked at.
pub const CRATE: &str = "gateway";

/// Modules of the gateway that load the catalog outside a request.
const MAY_LOAD_THE_CATALOG: [&str; 10] = [
    "announce",
    "app",
    "background",
    "find",
    "gateway",
    "host",
    "list_servers",
    "measure",
    "priors_schedule",
    "search",
];

/// Files in which requests begin. Each loads the catalog in one place, for the whole request.
const LOADS_IT_ONCE: [&str; 6] = [
    "front/http.rs",
    "front/metrics.rs",
    "front/models/mod.rs",
    "front/retrieve/mod.rs",
    "front/stdio.rs",
    "front/tokens.rs",
];

/// The largest group of top-level modules in which each reaches each.
#[derive(Debug, Default)]
pub struct Knot {
    pub modules: Vec<String>,
    pub lines: usize,
    /// All top-level modules of the crate.
    pub of_modules: usize,
}

#[must_use]
pub fn knot(files: &[&SourceFile]) -> Knot {
    let mut lines: BTreeMap<String, usize> = BTreeMap::new();
    for file in files {
        *lines.entry(top_module(file)).or_default() += file.lines.len();
    }
    lines.retain(|name, _| !["lib", "main"].contains(&name.as_str()));
    let mut uses: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in files {
        let used = used_modules(&file.tokens, depth(file));
        uses.entry(top_module(file))
            .or_default()
            .extend(used.into_iter().filter(|name| lines.contains_key(name)));
    }
    let modules = largest_knot(&uses);
    Knot {
        lines: modules.iter().map(|name| lines[name]).sum(),
        of_modules: lines.len(),
        modules,
    }
}

/// The first part of a file's path, such as `front` for `front/mod.rs`.
fn top_module(file: &SourceFile) -> String {
    let first = file.inside.split('/').next().unwrap_or_default();
    first.trim_end_matches(".rs").to_owned()
}

/// The number of `super` that lead from the file's module to the crate's root.
fn depth(file: &SourceFile) -> usize {
    let parts = file.inside.split('/').count();
    match file.inside.rsplit('/').next() {
        Some("mod.rs") => parts - 1,
        Some("lib.rs" | "main.rs") if parts == 1 => 0,
        _ => parts,
    }
}

/// The names that follow `crate::`, or as many `super::` as lead to the root. Read from tokens, so
/// that uses inside of macros are seen.
fn used_modules(tokens: &TokenStream, depth: usize) -> BTreeSet<String> {
    let all: Vec<TokenTree> = tokens.clone().into_iter().collect();
    let mut used = BTreeSet::new();
    for (at, token) in all.iter().enumerate() {
        match token {
            TokenTree::Group(group) => used.extend(used_modules(&group.stream(), depth)),
            TokenTree::Ident(word) if word == "crate" => used.extend(names_after(&all[at + 1..])),
            TokenTree::Ident(word) if word == "super" && depth > 0 => {
                used.extend(names_above(&all[at..], depth));
            }
            _ => {}
        }
    }
    used
}

/// The names behind exactly `depth` times `super::`.
fn names_above(tokens: &[TokenTree], depth: usize) -> Vec<String> {
    let mut rest = tokens;
    for above in 1..=depth {
        match rest {
            [TokenTree::Ident(word), after @ ..] if word == "super" && above < depth => {
                rest = after.get(2..).unwrap_or_default();
            }
            [TokenTree::Ident(word), after @ ..] if word == "super" => rest = after,
            _ => return Vec::new(),
        }
    }
    names_after(rest)
}

/// The names that a path goes on with: one, or the first of each path in braces.
fn names_after(tokens: &[TokenTree]) -> Vec<String> {
    match tokens {
        [
            TokenTree::Punct(_),
            TokenTree::Punct(_),
            TokenTree::Ident(name),
            ..,
        ] => {
            vec![name.to_string()]
        }
        [
            TokenTree::Punct(_),
            TokenTree::Punct(_),
            TokenTree::Group(group),
            ..,
        ] if group.delimiter() == Delimiter::Brace => first_names(group.stream()),
        _ => Vec::new(),
    }
}

fn first_names(tokens: TokenStream) -> Vec<String> {
    let mut names = Vec::new();
    let mut begins = true;
    for token in tokens {
        match token {
            TokenTree::Ident(name) if begins => {
                names.push(name.to_string());
                begins = false;
            }
            TokenTree::Punct(mark) if mark.as_char() == ',' => begins = true,
            _ => {}
        }
    }
    names
}

fn largest_knot(uses: &BTreeMap<String, BTreeSet<String>>) -> Vec<String> {
    let reached: BTreeMap<&String, BTreeSet<&String>> = uses
        .keys()
        .map(|name| (name, reached_from(name, uses)))
        .collect();
    let knots = reached.keys().map(|name| knot_around(name, &reached));
    knots.max_by_key(Vec::len).unwrap_or_default()
}

/// The modules that a module reaches and that reach it.
fn knot_around(name: &String, reached: &BTreeMap<&String, BTreeSet<&String>>) -> Vec<String> {
    reached[name]
        .iter()
        .filter(|other| reached.get(**other).is_some_and(|back| back.contains(name)))
        .map(|other| (*other).clone())
        .collect()
}

/// All modules that a module uses, also by way of others. It is among them if it reaches itself.
fn reached_from<'a>(
    name: &String,
    uses: &'a BTreeMap<String, BTreeSet<String>>,
) -> BTreeSet<&'a String> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&String> = uses.get(name).into_iter().flatten().collect();
    while let Some(next) = open.pop() {
        if reached.insert(next) {
            open.extend(uses.get(next).into_iter().flatten());
        }
    }
    reached
}

/// The calls of `.catalog()` on the request path beside the one with which a request begins, as
/// `path:line`.
#[must_use]
pub fn catalog_loads(files: &[&SourceFile]) -> Vec<String> {
    let on_the_path = files
        .iter()
        .filter(|file| !MAY_LOAD_THE_CATALOG.contains(&top_module(file).as_str()));
    on_the_path.flat_map(|file| loads_too_many(file)).collect()
}

fn loads_too_many(file: &SourceFile) -> Vec<String> {
    let allowed = usize::from(LOADS_IT_ONCE.contains(&file.inside.as_str()));
    let lines = catalog_calls(file.tokens.clone()).into_iter();
    let lines = lines.skip(allowed);
    lines.map(|line| format!("{}:{line}", file.path)).collect()
}

/// The lines with a call of `.catalog()`.
fn catalog_calls(tokens: TokenStream) -> Vec<usize> {
    let all: Vec<TokenTree> = tokens.into_iter().collect();
    let mut lines = Vec::new();
    for (at, token) in all.iter().enumerate() {
        match (token, &all[at + 1..]) {
            (TokenTree::Group(group), _) => lines.extend(catalog_calls(group.stream())),
            (TokenTree::Punct(dot), [TokenTree::Ident(name), TokenTree::Group(arguments), ..])
                if dot.as_char() == '.' && name == "catalog" && arguments.stream().is_empty() =>
            {
                lines.push(name.span().start().line);
            }
            _ => {}
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::{catalog_calls, largest_knot, used_modules};

    #[test]
    fn the_knot_is_where_each_reaches_each() {
        let uses: BTreeMap<String, BTreeSet<String>> = [
            ("a", vec!["b"]),
            ("b", vec!["c"]),
            ("c", vec!["a", "d"]),
            ("d", vec!["e"]),
            ("e", vec!["d"]),
        ]
        .into_iter()
        .map(|(from, to)| (from.to_owned(), to.into_iter().map(str::to_owned).collect()))
        .collect();
        assert_eq!(largest_knot(&uses), ["a", "b", "c"]);
    }

    #[test]
    fn a_module_is_used_by_its_path_from_the_root() {
        check("use crate::front::http;", 1, &["front"]);
        check(
            "use crate::{front::{http, mcp}, turn};",
            1,
            &["front", "turn"],
        );
        check(
            "fn a() { write!(f, \"{}\", crate::clock::now()) }",
            1,
            &["clock"],
        );
        check("use super::turn::Turn;", 1, &["turn"]);
        check("use super::turn::Turn;", 2, &[]);
        check("use super::super::turn::Turn;", 2, &["turn"]);
        check("pub(crate) fn a() {}", 1, &[]);
    }

    #[track_caller]
    fn check(text: &str, depth: usize, expected: &[&str]) {
        let used = used_modules(&text.parse().unwrap(), depth);
        assert_eq!(
            used.iter().map(String::as_str).collect::<Vec<_>>(),
            expected
        );
    }

    #[test]
    fn a_load_of_the_catalog_is_found_with_its_line() {
        let text = "fn a() {\n gateway.catalog();\n f(&self.gateway.catalog().tools);\n turn.catalog.tool(); }";
        assert_eq!(catalog_calls(text.parse().unwrap()), [2, 3]);
    }
}
