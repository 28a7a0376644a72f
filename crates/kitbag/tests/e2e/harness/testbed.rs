//! The servers behind the gateway: their configuration, or separately running processes.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use kitbag_testkit::programs::testbed;

/// A testbed that the gateway starts over stdio.
#[derive(Debug, Clone)]
pub(crate) struct Testbed {
    name: String,
    args: Vec<String>,
    settings: String,
}

impl Testbed {
    pub(crate) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            args: Vec::new(),
            settings: String::new(),
        }
    }

    /// `legacy`, `modern` or `dual` (the default).
    pub(crate) fn era(self, era: &str) -> Self {
        self.args(&["--era", era])
    }

    pub(crate) fn manner(self, misbehaviour: &str) -> Self {
        self.args(&["--manner", misbehaviour])
    }

    /// The folder of its `events.log` and `detached.pid`.
    pub(crate) fn data_dir(self, path: &Path) -> Self {
        self.args(&["--data-dir", path.to_str().unwrap()])
    }

    /// Adds a line to its table, such as `idle_timeout = "1s"`.
    pub(crate) fn with(mut self, setting: &str) -> Self {
        writeln!(self.settings, "{setting}").unwrap();
        self
    }

    /// Its `[servers.NAME]` table.
    pub(crate) fn table(&self) -> String {
        let mut args = self.args.clone();
        args.push("stdio".to_owned());
        command_table(&self.name, &testbed(), &args, &self.settings)
    }

    /// The shell command that starts it.
    pub(crate) fn line(&self) -> String {
        format!("{} {} stdio", testbed(), self.args.join(" "))
    }

    fn args(mut self, args: &[&str]) -> Self {
        self.args.extend(args.iter().map(ToString::to_string));
        self
    }
}

/// Any program as a server. JSON strings and arrays of strings are valid TOML.
pub(crate) fn command_table(name: &str, command: &str, args: &[String], settings: &str) -> String {
    let (command, args) = (Value::from(command), Value::from(args));
    format!("[servers.{name}]\ncommand = {command}\nargs = {args}\n{settings}\n")
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    Http,
    Sse,
}

/// A testbed that runs separately and is reached over HTTP; it ends with the test.
#[derive(Debug)]
pub(crate) struct Remote {
    pub(crate) url: String,
    transport: Transport,
    args: Vec<String>,
    child: Child,
}

/// The address of an ended testbed, where another can be started.
#[derive(Debug)]
pub(crate) struct Vacant {
    transport: Transport,
    port: u16,
    args: Vec<String>,
}

impl Remote {
    pub(crate) async fn http(args: &[&str]) -> Self {
        Vacant::new(Transport::Http, args).start().await
    }

    pub(crate) async fn sse(args: &[&str]) -> Self {
        Vacant::new(Transport::Sse, args).start().await
    }

    /// Ends it and starts a new one at the same address.
    pub(crate) async fn restart(self) -> Self {
        self.end().start().await
    }

    /// Ends it and frees its address until the next one is started there.
    pub(crate) fn end(self) -> Vacant {
        Vacant {
            transport: self.transport,
            port: self.port(),
            args: self.args.clone(),
        }
    }

    /// Its `[servers.NAME]` table, with extra lines from `settings`.
    pub(crate) fn table(&self, name: &str, settings: &str) -> String {
        let transport = match self.transport {
            Transport::Http => "http",
            Transport::Sse => "sse",
        };
        format!(
            "[servers.{name}]\nurl = \"{}\"\ntransport = \"{transport}\"\n{settings}\n",
            self.url
        )
    }

    pub(crate) fn port(&self) -> u16 {
        reqwest::Url::parse(&self.url).unwrap().port().unwrap()
    }
}

impl Vacant {
    fn new(transport: Transport, args: &[&str]) -> Self {
        Self {
            transport,
            port: 0,
            args: args.iter().map(ToString::to_string).collect(),
        }
    }

    pub(crate) async fn start(self) -> Remote {
        let verb = match self.transport {
            Transport::Http => "http",
            Transport::Sse => "sse",
        };
        let mut command = Command::new(testbed());
        command
            .args(&self.args)
            .args([verb, "--port", &self.port.to_string()]);
        let started = tokio::task::spawn_blocking(move || {
            let mut child = command
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let mut lines = BufReader::new(child.stdout.take().unwrap())
                .lines()
                .map_while(Result::ok);
            let url = lines.find_map(|line| line.strip_prefix("listening on ").map(str::to_owned));
            let url = url.expect("the testbed says where it listens");
            Remote {
                url,
                transport: self.transport,
                args: self.args,
                child,
            }
        });
        started.await.unwrap()
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The testbed's output of `print-exotic` or `print-definition`.
pub(crate) fn print_output(args: &[&str]) -> String {
    let output = Command::new(testbed()).args(args).output().unwrap();
    String::from_utf8(output.stdout)
        .unwrap()
        .trim_end()
        .to_owned()
}
