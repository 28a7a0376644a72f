//! The way from the HTTP door to the pipeline, as ARCHITECTURE.md lists it.
//!
//! A fenced block that begins with `hops` has one hop on each line, as `path (function)`. Each
//! function calls the next one.

use std::path::Path;

use anyhow::Context;
use syn::visit::{self, Visit};
use syn::{Block, ImplItemFn, ItemFn};

const BLOCK: &str = "```hops";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hop {
    /// From the root of the checkout.
    pub path: String,
    /// As `function` or `Type::function`.
    pub function: String,
}

impl Hop {
    /// The function's name without its type.
    #[must_use]
    pub fn name(&self) -> &str {
        self.function.rsplit("::").next().unwrap_or_default()
    }
}

/// The hops, or `None` where the document has no such block.
pub fn listed(root: &Path) -> anyhow::Result<Option<Vec<Hop>>> {
    match std::fs::read_to_string(root.join("ARCHITECTURE.md")) {
        Ok(text) => parse(&text),
        Err(_) => Ok(None),
    }
}

fn parse(document: &str) -> anyhow::Result<Option<Vec<Hop>>> {
    let Some((_, after)) = document.split_once(BLOCK) else {
        return Ok(None);
    };
    let (block, _) = after
        .split_once("```")
        .context("the block of hops in ARCHITECTURE.md has no end")?;
    let lines = block.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.map(hop).collect::<anyhow::Result<_>>().map(Some)
}

fn hop(line: &str) -> anyhow::Result<Hop> {
    let (path, function) = line
        .strip_suffix(')')
        .and_then(|line| line.split_once(" ("))
        .with_context(|| format!("the hop `{line}` in ARCHITECTURE.md is not `path (function)`"))?;
    Ok(Hop {
        path: path.to_owned(),
        function: function.to_owned(),
    })
}

/// The mistakes in the list: a function that is not in its file, or one that does not mention the
/// next.
#[must_use]
pub fn broken(root: &Path, hops: &[Hop]) -> Vec<String> {
    hops.iter()
        .enumerate()
        .filter_map(|(at, hop)| problem(root, hop, hops.get(at + 1)))
        .collect()
}

fn problem(root: &Path, hop: &Hop, next: Option<&Hop>) -> Option<String> {
    let Hop { path, function } = hop;
    let Ok(text) = std::fs::read_to_string(root.join(path)) else {
        return Some(format!("there is no file `{path}`"));
    };
    let bodies = bodies(&text, hop.name());
    if bodies.is_empty() {
        return Some(format!("`{path}` has no function `{function}`"));
    }
    let next = next?;
    let calls_next = bodies.iter().any(|body| mentions(body, next.name()));
    (!calls_next).then(|| format!("`{function}` in `{path}` does not call `{}`", next.function))
}

/// The bodies of all functions of that name in a file.
fn bodies(text: &str, name: &str) -> Vec<String> {
    let mut found = Bodies {
        name,
        bodies: Vec::new(),
    };
    if let Ok(file) = syn::parse_file(text) {
        found.visit_file(&file);
    }
    found.bodies
}

fn mentions(body: &str, name: &str) -> bool {
    body.split(|letter: char| !letter.is_alphanumeric() && letter != '_')
        .any(|word| word == name)
}

struct Bodies<'a> {
    name: &'a str,
    bodies: Vec<String>,
}

impl Bodies<'_> {
    fn add(&mut self, name: &syn::Ident, body: &Block) {
        use syn::spanned::Spanned;
        if name == self.name {
            self.bodies.extend(body.span().source_text());
        }
    }
}

impl<'ast> Visit<'ast> for Bodies<'_> {
    fn visit_item_fn(&mut self, function: &'ast ItemFn) {
        self.add(&function.sig.ident, &function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast ImplItemFn) {
        self.add(&function.sig.ident, &function.block);
        visit::visit_impl_item_fn(self, function);
    }
}

#[cfg(test)]
mod tests {
    use super::{Hop, bodies, mentions, parse};

    #[test]
    fn the_block_is_one_hop_a_line() {
        let text = "# Map\n\n```hops\na/b.rs (enter)\na/c.rs (Visit::post)\n```\n\nMore.";
        let hops = parse(text).unwrap().unwrap();
        let expected = Hop {
            path: "a/c.rs".to_owned(),
            function: "Visit::post".to_owned(),
        };
        assert_eq!(hops.len(), 2);
        assert_eq!((&hops[1], hops[1].name()), (&expected, "post"));
        assert_eq!(parse("no block").unwrap(), None);
        parse("```hops\nnothing of the kind\n```").unwrap_err();
    }

    #[test]
    fn a_function_mentions_the_next_one_by_its_whole_name() {
        let found = bodies(
            "impl A { fn enter() { posted(); self.post(1) } } fn other() {}",
            "enter",
        );
        assert_eq!(found.len(), 1);
        assert!(mentions(&found[0], "post") && !mentions(&found[0], "pos"));
    }
}
