//! Patterns as people write them into lists: `*` stands for anything.
//!
//! A server pattern is matched against the server's name, a tool pattern against
//! `<server>/<name>` of a tool, prompt or resource. `*` reaches across `/`, because the name
//! of a resource is a URI.

use globset::{Glob, GlobBuilder, GlobMatcher};
use kitbag_domain::Capability;

use crate::spelling;

// Each pattern is matched on its own rather than as a `GlobSet`: the set takes shortcuts made
// for file paths, in which a name that ends in `/..` escapes patterns that should match it.
#[derive(Debug, Clone)]
pub struct Pattern {
    exact: GlobMatcher,
    /// For the readings of a name that can be spelt in several ways.
    folded: Option<GlobMatcher>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{pattern}` is not a pattern: {reason}")]
pub struct PatternError {
    pub pattern: String,
    pub reason: String,
}

impl Pattern {
    /// For names without a `/`: of servers, of clients.
    pub fn name(text: &str) -> Result<Self, PatternError> {
        // Such a pattern can never match, and a deny rule that never matches protects nothing.
        if text.contains('/') {
            let reason =
                "a server has no `/` in its name; to choose tools, use a tool list".to_owned();
            return Err(PatternError {
                pattern: text.to_owned(),
                reason,
            });
        }
        Self::any(text)
    }

    /// For `<server>/<tool>`.
    pub fn tool(text: &str) -> Result<Self, PatternError> {
        // `delete_*` would mean "servers whose name begins with delete_", which nobody means.
        let anchored = text.contains('/') || text.starts_with('*');
        if !anchored && !text.is_empty() {
            let reason =
                format!("a tool is named `<server>/<tool>`; for every server, write `*/{text}`");
            return Err(PatternError {
                pattern: text.to_owned(),
                reason,
            });
        }
        // The name of a server has one spelling; what it offers may have many.
        let folded = match text.split_once('/') {
            Some((server, name)) => format!(
                "{server}/{}",
                spelling::pattern(name).trim_start_matches('/')
            ),
            None => spelling::pattern(text),
        };
        Ok(Self {
            folded: glob(&folded).ok().map(|glob| glob.compile_matcher()),
            ..Self::any(text)?
        })
    }

    /// For text of any kind.
    pub fn any(text: &str) -> Result<Self, PatternError> {
        let wrong = |reason: String| PatternError {
            pattern: text.to_owned(),
            reason,
        };
        if text.is_empty() {
            return Err(wrong("it is empty".to_owned()));
        }
        let exact = glob(text)
            .map_err(|error| wrong(error.kind().to_string()))?
            .compile_matcher();
        Ok(Self {
            exact,
            folded: None,
        })
    }

    pub fn matches(&self, text: &str) -> bool {
        self.exact.is_match(text)
    }

    /// Whether a tool pattern matches what some server may read.
    pub(crate) fn matches_reading(&self, path: &str) -> bool {
        self.folded
            .as_ref()
            .is_some_and(|folded| folded.is_match(path))
    }

    /// Whether a tool pattern may be about something of this server.
    pub(crate) fn concerns(&self, server: &str) -> bool {
        let Some((named, _)) = self.as_str().split_once('/') else {
            return true;
        };
        named == server || named.contains(['*', '?', '[', '{', '\\'])
    }

    /// For tool patterns.
    pub fn covers(&self, capability: &Capability) -> bool {
        self.matches(&path(capability))
    }

    pub fn as_str(&self) -> &str {
        self.exact.glob().glob()
    }
}

fn glob(text: &str) -> Result<Glob, globset::Error> {
    GlobBuilder::new(text)
        .literal_separator(false)
        .backslash_escape(true)
        .build()
}

/// What a tool pattern is matched against.
pub(crate) fn path(capability: &Capability) -> String {
    format!("{}/{}", capability.server, capability.name)
}
