//! The real `kitbag` binary between a raw client and real little servers, over every transport.
//!
//! # Layout
//! - [`harness`]: a gateway in a folder of its own, clients of both manners, testbed servers

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod bad_input;
mod fidelity;
mod harness;
mod upstreams;
