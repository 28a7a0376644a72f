//! Patterns in the operator's lists: `*` matches any text.
//!
//! A server pattern is matched against the server's name, a tool pattern against `<server>/<name>`
//! of a tool, prompt or resource. `*` matches `/`, too, because the name of a resource is a URI.

use globset::{Glob, GlobBuilder, GlobMatcher};
use kitbag_domain::Capability;

use crate::spelling;

// Each pattern is matched on its own rather than as a `GlobSet`: the set has optimizations for file
// paths, with which a name that ends in `/..` escapes patterns that should match it.
#[derive(Debug, Clone)]
pub struct Pattern {
    exact: GlobMatcher,
    /// Matches the readings of a name that has several spellings.
    folded: Option<GlobMatcher>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{pattern}` is not a pattern: {reason}")]
pub struct PatternError {
    pub pattern: String,
    pub reason: String,
}

impl PatternError {
    fn new(pattern: &str, reason: impl Into<String>) -> Self {
        Self {
            pattern: pattern.to_owned(),
            reason: reason.into(),
        }
    }
}

impl Pattern {
    /// Compiles a pattern for names without a `/`, such as those for servers and clients.
    pub fn for_names(text: &str) -> Result<Self, PatternError> {
        // Such a pattern can never match, and a deny rule that never matches protects nothing.
        if text.contains('/') {
            let reason = "a server has no `/` in its name; to choose tools, use a tool list";
            return Err(PatternError::new(text, reason));
        }
        Self::for_any_text(text)
    }

    /// Compiles a pattern for `<server>/<tool>`.
    pub fn for_tools(text: &str) -> Result<Self, PatternError> {
        // `delete_*` would mean "servers whose name begins with delete_", which an operator hardly
        // ever means.
        let is_anchored = text.contains('/') || text.starts_with('*');
        if !is_anchored && !text.is_empty() {
            let reason =
                format!("a tool is named `<server>/<tool>`; for every server, write `*/{text}`");
            return Err(PatternError::new(text, reason));
        }
        Ok(Self {
            folded: build_glob(&fold_pattern(text))
                .ok()
                .map(|glob| glob.compile_matcher()),
            ..Self::for_any_text(text)?
        })
    }

    /// Compiles a pattern for any text.
    pub fn for_any_text(text: &str) -> Result<Self, PatternError> {
        if text.is_empty() {
            return Err(PatternError::new(text, "it is empty"));
        }
        let glob =
            build_glob(text).map_err(|error| PatternError::new(text, error.kind().to_string()))?;
        Ok(Self {
            exact: glob.compile_matcher(),
            folded: None,
        })
    }

    pub fn matches(&self, text: &str) -> bool {
        self.exact.is_match(text)
    }

    /// True if a tool pattern matches a reading of a name.
    pub(crate) fn matches_reading(&self, path: &str) -> bool {
        self.folded
            .as_ref()
            .is_some_and(|folded| folded.is_match(path))
    }

    /// True if a tool pattern may match a tool of this server.
    pub(crate) fn may_match_server(&self, server: &str) -> bool {
        let Some((named, _)) = self.as_str().split_once('/') else {
            return true;
        };
        named == server || named.contains(['*', '?', '[', '{', '\\'])
    }

    /// True if a tool pattern matches the capability.
    pub fn matches_capability(&self, capability: &Capability) -> bool {
        self.matches(&tool_path(capability))
    }

    pub fn as_str(&self) -> &str {
        self.exact.glob().glob()
    }
}

fn build_glob(text: &str) -> Result<Glob, globset::Error> {
    GlobBuilder::new(text)
        .literal_separator(false)
        .backslash_escape(true)
        .build()
}

/// Folds a tool pattern like the readings of names. A server's name has one spelling; the names of
/// its tools and resources may have many.
fn fold_pattern(text: &str) -> String {
    match text.split_once('/') {
        Some((server, name)) => {
            let name = spelling::fold_wildcards(name);
            format!("{server}/{}", name.trim_start_matches('/'))
        }
        None => spelling::fold_wildcards(text),
    }
}

/// Returns the text against which a tool pattern is matched.
pub(crate) fn tool_path(capability: &Capability) -> String {
    format!("{}/{}", capability.server, capability.name)
}
