//! The decision of policy about one request.

/// The decision of policy: the caller may use the capability or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    Allow,
    /// The reason is shown to the caller.
    Deny(String),
}
