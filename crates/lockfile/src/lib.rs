//! The approved definitions of other people's tools, prompts, resource templates and skills.
//!
//! A person approves the definition that a server lists. The server may replace it afterwards, and
//! a model would follow the new text. So the lock file stores the hash of each approved definition,
//! and every listing is compared with it.
//!
//! # Layout
//! - [`canonical`]: the canonical text of a definition, and its hash
//! - [`file`](mod@file): the lock file
//! - [`drift`]: differences between a server's list and its approved definitions
//! - [`judgement`]: which entries of a list callers get; [`unapproved`]: withheld entries, by name
//! - [`reported_drift`]: drift that was already reported; [`definition_history`]: changes of any
//!   definition
//! - [`marks`]: suspicious parts of a definition
//! - [`difference`]: two definitions compared by member, for people; [`text_diff`]: two texts

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
pub use file::{ApprovedHashes, LockFile, LockFileError, LockedServer};
pub use judgement::{Judgement, ListedOffer};
pub use marks::{Mark, find_marks};
pub use reported_drift::ReportedDrift;
pub use unapproved::UnapprovedEntries;
