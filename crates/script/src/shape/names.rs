//! Names for literals: the unique name of the property that holds a literal.

use std::collections::{HashMap, HashSet};

use oxc_span::Span;

use super::arguments::FoundLiteral;
use crate::ShapeLiteral;

/// Literals with their names, and the position of each in the program.
#[derive(Default)]
pub(super) struct NamedLiterals {
    pub(super) literals: Vec<ShapeLiteral>,
    /// The name of the literal that begins at an offset, and the end of the literal.
    pub(super) names_by_offset: HashMap<u32, (String, u32)>,
}

/// Gives each literal a name. Literals with the same key and the same value share one.
pub(super) fn name_literals(found: Vec<FoundLiteral>, mut taken: HashSet<String>) -> NamedLiterals {
    let mut named = NamedLiterals::default();
    let mut keys: Vec<(String, usize)> = Vec::new();
    for literal in found {
        let known = keys
            .iter()
            .find(|(key, at)| *key == literal.key && named.literals[*at].value == literal.value);
        let at = match known {
            Some((_, at)) => *at,
            None => {
                keys.push((literal.key.clone(), named.literals.len()));
                named.literals.push(ShapeLiteral {
                    name: free_name(&identifier(&literal.key), &mut taken),
                    value: literal.value,
                });
                named.literals.len() - 1
            }
        };
        named.put(literal.span, at);
    }
    named
}

impl NamedLiterals {
    fn put(&mut self, span: Span, literal: usize) {
        let name = self.literals[literal].name.clone();
        self.names_by_offset.insert(span.start, (name, span.end));
    }
}

fn free_name(base: &str, taken: &mut HashSet<String>) -> String {
    let numbered = (2..).map(|number| format!("{base}_{number}"));
    let mut names = std::iter::once(base.to_owned()).chain(numbered);
    let free = names.find(|name| !taken.contains(name));
    let name = free.unwrap_or_default();
    taken.insert(name.clone());
    name
}

/// Returns a key as a name that can follow `params.`
fn identifier(key: &str) -> String {
    let name: String = key.chars().map(letter_or_line).collect();
    match name.chars().next() {
        None => "_".to_owned(),
        Some(first) if first.is_ascii_digit() => format!("_{name}"),
        Some(_) => name,
    }
}

fn letter_or_line(letter: char) -> char {
    if letter.is_ascii_alphanumeric() || matches!(letter, '_' | '$') {
        letter
    } else {
        '_'
    }
}
