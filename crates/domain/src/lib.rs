//! The domain types that all crates share, with their invariants.
//!
//! Plain data: no I/O, no clock, no wire format. A value with a rule about its shape is parsed here
//! once, so that no other crate has to check it again.
//!
//! # Layout
//! - [`server`]: the name of a server
//! - [`capability`]: a tool, prompt or resource of a server; [`exposed_name`]: its name for clients
//! - [`caller`]: the authenticated caller, its tenant and its role
//! - [`decision`]: the decision of policy
//! - [`observation`]: the record of a request; [`inquiry`]: the record of a search; [`event`]: the
//!   record of other events
//! - [`call_cost`]: the cost of an answer; [`recorded_arguments`]: the arguments in records
//! - [`latency_histogram`]: latencies of calls
//! - [`origin`]: the origin of a request
//! - [`reach`]: how a server is reached; [`template`]: text with variables
//! - [`surface`]: surfaces; [`write_class`]: the effect of a tool; [`derived_effect`]: its
//!   derivation for tools that declare none
//! - [`remedy`]: the next step that an error suggests
//! - [`sync`]: locking; [`fairness`]: eviction between callers
//! - [`short_text`]: truncated names from clients and servers
//! - [`near_names`](mod@near_names): suggestions for mistyped names; [`toml_problem`]: errors
//!   common to all TOML files
//! - [`text`]: text of servers without its invisible characters

pub mod call_cost;
pub mod caller;
pub mod capability;
pub mod decision;
pub mod derived_effect;
pub mod event;
pub mod exposed_name;
pub mod fairness;
pub mod inquiry;
pub mod latency_histogram;
pub mod near_names;
pub mod observation;
pub mod origin;
pub mod reach;
pub mod recorded_arguments;
pub mod remedy;
pub mod server;
pub mod short_text;
pub mod surface;
pub mod sync;
pub mod template;
pub mod text;
pub mod toml_problem;
pub mod write_class;

pub use call_cost::{CallCost, NanoUsd};
pub use caller::{Caller, KeyId, Role, RoleError, Tenant, TenantError};
pub use capability::{Capability, DefinitionKind, Kind, UnmaskedHash};
pub use decision::Decision;
pub use derived_effect::DescribedTool;
pub use event::{Action, Event};
pub use exposed_name::ExposedName;
pub use inquiry::{Inquiry, InquiryKind};
pub use latency_histogram::LatencyHistogram;
pub use near_names::{near_names, nearest_name};
pub use observation::{Observation, Outcome, Purpose, Timestamp};
pub use origin::{Origin, TraceParent, TraceParentError};
pub use reach::{Launch, Reach, RemoteEndpoint, RemoteTransport};
pub use recorded_arguments::RecordedArguments;
pub use remedy::Remedy;
pub use server::{ServerName, ServerNameError};
pub use short_text::ShortText;
pub use surface::{Surface, SurfaceError};
pub use template::{Lookup, MissingVariable, Template};
pub use toml_problem::TomlProblem;
pub use write_class::WriteClass;
