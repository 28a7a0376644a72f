//! The advice that comes with an error.

/// An error that may know what its reader can do about it.
///
/// The sentence of the error says what happened. The advice is apart from it, because a terminal, a
/// model and a log show it in different ways, and some of them not at all.
pub trait Remedy {
    /// Returns the advice, as an imperative without a full stop; nothing if there is no good advice.
    fn remedy(&self) -> Option<String>;
}
