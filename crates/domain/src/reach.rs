//! How a server is reached: a command that launches it, or a URL.

use std::path::PathBuf;

/// How a server is reached. `T` is the type of its texts: a [`Template`](crate::Template) where the
/// server is used, plain text where it is written, and text with marked secrets where it was found
/// in a client's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach<T> {
    Command(Launch<T>),
    Remote(RemoteEndpoint<T>),
}

/// The command that launches a server, which then uses stdin and stdout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch<T> {
    pub command: T,
    pub args: Vec<T>,
    /// Its environment variables with their values, in source order.
    pub env: Vec<(String, T)>,
    pub cwd: Option<PathBuf>,
}

/// The URL of a remote server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteEndpoint<T> {
    pub transport: RemoteTransport,
    pub url: T,
    /// Its headers with their values, in source order.
    pub headers: Vec<(String, T)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum RemoteTransport {
    /// Streamable HTTP, falling back to HTTP+SSE if the server supports only that.
    #[default]
    Http,
    /// The HTTP+SSE transport of 2024-11-05, requested explicitly.
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
    /// True if the header is set, regardless of case.
    pub fn sets_header(&self, name: &str) -> bool {
        let mut names = self.headers.iter().map(|(header, _)| header);
        names.any(|header| header.eq_ignore_ascii_case(name))
    }
}

impl RemoteTransport {
    pub const ALL: [Self; 2] = [Self::Http, Self::Sse];

    /// Returns its name in configurations and clients.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Sse => "sse",
        }
    }
}
