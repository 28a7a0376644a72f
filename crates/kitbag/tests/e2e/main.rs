//! The real `kitbag` binary between a raw client and small real servers, over every transport.
//!
//! # Layout
//! - [`harness`]: a gateway in a separate folder, clients of both eras, testbed servers
//! - [`agents`]: the built-in server, also by itself
//! - [`upstreams`]: behaviour of servers, and its effect on clients
//! - [`bridges`], [`fidelity`]: messages between clients and servers of either era, and that they arrive unchanged
//! - [`bad_input`]: invalid client input; [`hostile`]: attacks by servers and callers
//! - [`callers`]: accepted callers and their audit rows; [`audit`]: that audit rows are kept
//! - [`draining`]: shutdown while clients call
//! - [`feedback`]: reports of agents to the operators
//! - [`hidden`]: capabilities that a tenant may not use look as if they did not exist
//! - [`joining`]: clients and commands that share the running gateway
//! - [`keys`]: roles and expiry of keys
//! - [`rules`]: rules that cannot be bypassed
//! - [`skills`]: skills of servers, listed, found and read; [`trace`]: trace contexts passed to servers
//! - [`shared_store`]: several gateways over one database, and an unreachable database
//! - [`lock`]: servers that change approved definitions
//! - [`login`]: servers that require a login
//! - [`merged`]: all servers at one endpoint
//! - [`surfaces`]: the tools that clients see, and the tools that stand in for all others
//! - [`meter`]: what tools cost a model, and who may see it
//! - [`metrics`]: metrics of the gateway
//! - [`models`]: requests to models that pass through the gateway
//! - [`declared`]: tools from files
//! - [`eval_agents`]: measuring how models choose tools
//! - [`masked`]: secrets in definitions
//! - [`pages`]: who sees and changes the web pages of the gateway
//! - [`overrides`]: tools changed by the operator
//! - [`reload`]: configuration edits while the gateway runs
//! - [`web_pages`]: pages of the web, read and pictured
//! - [`mod@retrieve`]: the tools for a query; [`index`]: the index behind it

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
mod eval_agents;
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
mod pages;
mod reload;
mod retrieve;
mod rules;
mod shared_store;
mod skills;
mod surfaces;
mod trace;
mod upstreams;
mod web_pages;
