//! Matches URIs against URI templates (RFC 6570), to find the server that owns a URI. Values are
//! not extracted; that is left to the server.

use std::collections::HashMap;

/// Each part of a template costs a pass over the URI, and each server may have ten thousand
/// templates. Programs accept only shorter URIs.
const LONGEST: usize = 8 << 10;
const MOST_PARTS: usize = 64;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UriTemplate {
    parts: Vec<UriTemplatePart>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum UriTemplatePart {
    Literal(String),
    /// `{name}`: no slash inside, unless the operator (`+`, `#`, `/`…) allows one.
    Variable {
        spans_slashes: bool,
    },
}

impl UriTemplate {
    pub(crate) fn parse(template: &str) -> Self {
        let mut parts = Vec::new();
        let mut rest = template;
        while let Some((literal, after)) = rest.split_once('{') {
            let Some((expression, tail)) = after.split_once('}') else {
                break;
            };
            if !literal.is_empty() {
                parts.push(UriTemplatePart::Literal(literal.to_owned()));
            }
            let spans_slashes = expression.starts_with(OPERATORS) || expression.ends_with('*');
            parts.push(UriTemplatePart::Variable { spans_slashes });
            rest = tail;
        }
        if !rest.is_empty() {
            parts.push(UriTemplatePart::Literal(rest.to_owned()));
        }
        Self { parts }
    }

    /// Returns the literal text with which every URI of this template begins.
    pub(crate) fn literal_prefix(&self) -> &str {
        match self.parts.first() {
            Some(UriTemplatePart::Literal(literal)) => literal,
            _ => "",
        }
    }

    /// True if the template's scheme is literal; otherwise it matches almost any URI.
    pub(crate) fn has_scheme(&self) -> bool {
        let Some((scheme, _)) = self.literal_prefix().split_once(':') else {
            return false;
        };
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    }

    /// Walks the template with the set of all reachable offsets in the URI, so that no template,
    /// however contrived, costs more than a few passes.
    pub(crate) fn matches(&self, uri: &str) -> bool {
        if uri.len() > LONGEST || self.parts.len() > MOST_PARTS {
            return false;
        }
        if !uri.starts_with(self.literal_prefix()) {
            return false;
        }
        let mut reached = vec![false; uri.len() + 1];
        reached[0] = true;
        for part in &self.parts {
            reached = match part {
                UriTemplatePart::Literal(literal) => after_literal(&reached, uri, literal),
                UriTemplatePart::Variable { spans_slashes } => {
                    after_variable(&reached, uri, *spans_slashes)
                }
            };
        }
        reached[uri.len()]
    }
}

/// Fills in the known values of a template; other variables remain.
pub(crate) fn fill_template(template: &str, values: &HashMap<String, String>) -> String {
    let mut filled = String::new();
    let mut rest = template;
    while let Some((literal, after)) = rest.split_once('{') {
        let Some((expression, tail)) = after.split_once('}') else {
            break;
        };
        let name = expression
            .trim_start_matches(OPERATORS)
            .trim_end_matches('*');
        filled.push_str(literal);
        match values.get(name) {
            Some(value) => filled.push_str(value),
            None => filled.push_str(&format!("{{{expression}}}")),
        }
        rest = tail;
    }
    filled + rest
}

const OPERATORS: [char; 7] = ['+', '#', '/', '.', ';', '?', '&'];

fn after_literal(reached: &[bool], uri: &str, literal: &str) -> Vec<bool> {
    let mut next = vec![false; reached.len()];
    for at in (0..reached.len()).filter(|at| reached[*at]) {
        if uri.as_bytes()[at..].starts_with(literal.as_bytes()) {
            next[at + literal.len()] = true;
        }
    }
    next
}

fn after_variable(reached: &[bool], uri: &str, spans_slashes: bool) -> Vec<bool> {
    let mut next = vec![false; reached.len()];
    let mut inside = false;
    for at in 0..reached.len() {
        next[at] = inside || (spans_slashes && reached[at]);
        inside |= reached[at];
        if !spans_slashes && uri.as_bytes().get(at) == Some(&b'/') {
            inside = false;
        }
    }
    next
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(template: &str, uri: &str, expect: bool) {
        assert_eq!(
            UriTemplate::parse(template).matches(uri),
            expect,
            "{template} against {uri}"
        );
    }

    #[test]
    fn a_uri_matches_the_template_it_was_built_from() {
        check(
            "test://template/{id}/data",
            "test://template/123/data",
            true,
        );
        check(
            "test://template/{id}/data",
            "test://template/1/2/data",
            false,
        );
        check("file:///{+path}", "file:///a/b.txt", true);
        check("file:///{path}", "file:///a/b.txt", false);
        check("demo://item{?page}", "demo://item?page=2", true);
        check("demo://item{?page}", "demo://item", true);
        check("plain://x", "plain://x", true);
        check("plain://x", "plain://xy", false);
        check("{a}", "", false);
    }

    #[test]
    fn a_template_has_a_scheme_only_if_it_is_written_out() {
        for (template, expected) in [
            ("file:///{+path}", true),
            ("mem:{+x}", true),
            ("git+ssh://{host}/x", true),
            ("{+any}", false),
            ("{x}://{+rest}", false),
            ("f{+rest}", false),
            ("://{+x}", false),
            ("a b:{x}", false),
        ] {
            assert_eq!(
                UriTemplate::parse(template).has_scheme(),
                expected,
                "{template}"
            );
        }
    }
}
