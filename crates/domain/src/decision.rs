//! May it happen.

/// The answer of policy to one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    Allow,
    /// The reason is shown to the caller.
    Deny(String),
}
