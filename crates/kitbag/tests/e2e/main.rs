//! The real `kitbag` binary between a raw client and real little servers, over every transport.
//!
//! # Layout
//! - [`harness`]: a gateway in a folder of its own, clients of both eras, testbed servers
//! - [`agents`]: the server that is built in, and alone
//! - [`upstreams`]: what servers do to the gateway, and what clients see of it
//! - [`bridges`], [`fidelity`]: what passes between clients and servers of either era, and that it arrives as it was
//! - [`bad_input`]: what clients should not send; [`hostile`]: what servers and callers do to harm others
//! - [`callers`]: who may come in, and what is written down about it; [`audit`]: that it stays written
//! - [`draining`]: a gateway that is asked to end while clients call
//! - [`feedback`]: reports of agents to the operators
//! - [`hidden`]: that what a tenant may not use does not exist for it
//! - [`joining`]: clients and commands that share the gateway that runs
//! - [`keys`]: what a key is for, and how long it is good
//! - [`rules`]: rules that cannot be walked around
//! - [`skills`]: skills of servers, listed, found and read; [`trace`]: the trace of a client, handed on
//! - [`shared_store`]: several gateways over one database, and a database that is away
//! - [`lock`]: servers that change what a person has approved
//! - [`login`]: servers that ask who we are
//! - [`merged`]: everything behind one endpoint
//! - [`surfaces`]: what clients are shown of it, and the tools that stand in for all the others
//! - [`meter`]: what all that costs a model, and who is told
//! - [`metrics`]: how the gateway does, for those who watch it
//! - [`models`]: requests to models that pass through the gateway
//! - [`declared`]: tools that come from files
//! - [`exam`]: models that choose tools, and how well they do
//! - [`masked`]: secrets that servers write into their definitions
//! - [`overrides`]: tools in another form than their servers give them
//! - [`reload`]: a configuration that is edited while the gateway runs
//! - [`web_pages`]: pages of the web, read and pictured
//! - [`mod@retrieve`]: the tools for an intent; [`index`]: what stands behind the answer

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]
#![expect(
    clippy::print_stderr,
    reason = "a failed test shows what the gateway logged"
)]

mod agents;
mod audit;
mod bad_input;
mod bridges;
mod callers;
mod code;
mod declared;
mod draining;
mod exam;
mod feedback;
mod fidelity;
mod harness;
mod hidden;
mod hostile;
mod index;
mod intents;
mod joining;
mod keys;
mod learning;
mod lock;
mod login;
mod masked;
mod merged;
mod meter;
mod metrics;
mod models;
mod overrides;
mod reload;
mod retrieve;
mod rules;
mod shared_store;
mod skills;
mod surfaces;
mod trace;
mod upstreams;
mod web_pages;
