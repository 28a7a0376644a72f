//! What MCP clients on this machine have written down.
mod tree;
