//! The approved definitions of other people's tools and prompts.
//!
//! A person approves the definition that a server lists. A server may replace it afterwards, and
//! a model would act on the new words. So a file keeps the hash of each approved definition, and
//! everything that a server lists is compared with it.
//!
//! # Layout
//! - [`canonical`]: a definition as text that is the same however it is spelt, and its hash
//! - [`file`](mod@file): the lock file, read and written
//! - [`drift`]: the ways in which a server's list differs from what was approved
//! - [`judgement`]: which entries of a list callers get; [`held`]: those they do not, by name
//! - [`told`]: the drift that a person was told of; [`seen`]: changes of what was never approved, too
//! - [`marks()`]: the reasons to look twice at a definition before approving it
//! - [`difference`]: two definitions compared member by member, for people; [`words`]: two texts

pub mod canonical;
pub mod definition_history;
pub mod difference;
pub mod drift;
pub mod file;
pub mod judgement;
pub mod marks;
pub mod reported_drift;
pub mod text_diff;
pub mod unapproved;

pub use canonical::{DefinitionHash, ListedDefinition};
pub use difference::{DefinitionDifference, MemberChange};
pub use drift::{Drift, DriftedDefinition, UnapprovedReason};
pub use file::{LockFile, LockFileError, LockedServer};
pub use judgement::{Judgement, ListedOffer};
pub use marks::{Mark, find_marks};
pub use reported_drift::ReportedDrift;
pub use unapproved::UnapprovedEntries;
