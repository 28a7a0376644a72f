//! The next step that an error suggests.

/// An error that may know what its reader can do about it.
///
/// The error message says what happened. The remedy is separate, because a terminal, a model and a
/// log show it in different ways, and some of them not at all.
pub trait Remedy {
    /// Returns the remedy, as an imperative without a full stop; `None` if there is no good one.
    fn remedy(&self) -> Option<String>;
}
