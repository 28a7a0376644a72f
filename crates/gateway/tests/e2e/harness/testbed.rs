//! The servers behind the gateway: what to write into its configuration, or a process of our own.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::gateway::sibling;

/// A testbed that the gateway starts over stdio.
#[derive(Debug, Clone)]
pub(crate) struct Testbed {
    name: String,
    args: Vec<String>,
    settings: String,
}

impl Testbed {
    pub(crate) fn named(name: &str) -> Self {
        Self { name: name.to_owned(), args: Vec::new(), settings: String::new() }
    }

    /// `legacy`, `modern` or `dual`, which it is unless told.
    pub(crate) fn era(self, era: &str) -> Self {
        self.args(&["--era", era])
    }

    pub(crate) fn manner(self, manner: &str) -> Self {
        self.args(&["--manner", manner])
    }

    /// Where it leaves `events.log` and `detached.pid`.
    pub(crate) fn data_dir(self, path: &Path) -> Self {
        self.args(&["--data-dir", path.to_str().unwrap()])
    }

    /// A line of its table, such as `idle_timeout = "1s"`.
    pub(crate) fn with(mut self, setting: &str) -> Self {
        writeln!(self.settings, "{setting}").unwrap();
        self
    }

    /// Its `[servers.NAME]` table.
    pub(crate) fn table(&self) -> String {
        let mut args = self.args.clone();
        args.push("stdio".to_owned());
        let path = sibling(TESTBED);
        command_table(&self.name, path.to_str().unwrap(), &args, &self.settings)
    }

    fn args(mut self, args: &[&str]) -> Self {
        self.args.extend(args.iter().map(ToString::to_string));
        self
    }
}

/// Any program as a server. JSON strings and arrays of them are TOML as well.
pub(crate) fn command_table(name: &str, command: &str, args: &[String], settings: &str) -> String {
    let (command, args) = (Value::from(command), Value::from(args));
    format!("[servers.{name}]\ncommand = {command}\nargs = {args}\n{settings}\n")
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    Http,
    Sse,
}

/// A testbed that runs by itself and is reached over HTTP; it ends with the test.
#[derive(Debug)]
pub(crate) struct Remote {
    pub(crate) url: String,
    transport: Transport,
    child: Child,
}

impl Remote {
    pub(crate) async fn http(args: &[&str]) -> Self {
        Self::start(Transport::Http, 0, args).await
    }

    pub(crate) async fn sse(args: &[&str]) -> Self {
        Self::start(Transport::Sse, 0, args).await
    }

    /// Ends it and starts another one at the same address, which knows nothing of the first.
    pub(crate) async fn replace(self, args: &[&str]) -> Self {
        let (transport, port) = (self.transport, self.port());
        drop(self);
        Self::start(transport, port, args).await
    }

    /// Its `[servers.NAME]` table, with further lines if `settings` has any.
    pub(crate) fn table(&self, name: &str, settings: &str) -> String {
        let transport = match self.transport {
            Transport::Http => "http",
            Transport::Sse => "sse",
        };
        format!("[servers.{name}]\nurl = \"{}\"\ntransport = \"{transport}\"\n{settings}\n", self.url)
    }

    pub(crate) fn port(&self) -> u16 {
        reqwest::Url::parse(&self.url).unwrap().port().unwrap()
    }

    async fn start(transport: Transport, port: u16, args: &[&str]) -> Self {
        let mut command = Command::new(sibling(TESTBED));
        let verb = match transport {
            Transport::Http => "http",
            Transport::Sse => "sse",
        };
        command.args(args).args([verb, "--port", &port.to_string()]);
        tokio::task::spawn_blocking(move || {
            let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
            let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
            let url = lines.find_map(|line| line.strip_prefix("listening on ").map(str::to_owned));
            Self { url: url.expect("the testbed says where it listens"), transport, child }
        })
        .await
        .unwrap()
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What the testbed prints: `print-exotic` or `print-definition`.
pub(crate) fn printed(args: &[&str]) -> String {
    let output = Command::new(sibling(TESTBED)).args(args).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

const TESTBED: &str = "kitbag-testbed";
