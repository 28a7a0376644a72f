//! The way to a server: a command that starts it, or an address.

use std::path::PathBuf;

/// The way to a server. `T` is the text of its parts: a [`Template`](crate::Template) where the
/// server is used, plain text where it is written, and text with marked secrets where it was found in
/// a client's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach<T> {
    Command(Launch<T>),
    Remote(RemoteEndpoint<T>),
}

/// The command that starts a server, which then speaks over stdin and stdout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch<T> {
    pub command: T,
    pub args: Vec<T>,
    /// Each variable of its environment with its value, in the order of the text they come from.
    pub env: Vec<(String, T)>,
    pub cwd: Option<PathBuf>,
}

/// The address of a server on the network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteEndpoint<T> {
    pub transport: RemoteTransport,
    pub url: T,
    /// Each header with its value, in the order of the text they come from.
    pub headers: Vec<(String, T)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum RemoteTransport {
    /// Streamable HTTP. A server that turns out to speak only HTTP+SSE is spoken to that way.
    #[default]
    Http,
    /// The HTTP+SSE transport of 2024-11-05, asked for by name.
    Sse,
}

impl<T> Reach<T> {
    /// Returns its environment variables, or its headers.
    pub fn named_values(&self) -> &[(String, T)] {
        match self {
            Self::Command(launch) => &launch.env,
            Self::Remote(endpoint) => &endpoint.headers,
        }
    }
}

impl<T> Launch<T> {
    pub fn sets_variable(&self, name: &str) -> bool {
        self.env.iter().any(|(variable, _)| variable == name)
    }
}

impl<T> RemoteEndpoint<T> {
    /// True if the header is set, in whichever case it is written.
    pub fn sets_header(&self, name: &str) -> bool {
        let mut names = self.headers.iter().map(|(header, _)| header);
        names.any(|header| header.eq_ignore_ascii_case(name))
    }
}

impl RemoteTransport {
    pub const ALL: [Self; 2] = [Self::Http, Self::Sse];

    /// Returns the name that the configuration and clients use for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Sse => "sse",
        }
    }
}
