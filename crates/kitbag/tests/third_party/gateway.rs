//! The gateway under test: its configuration, and its HTTP and stdio transports.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::processes;
use crate::servers::RealServer;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    Http,
    Stdio,
}

/// A folder with a configuration, and a gateway once a client connects over HTTP.
#[derive(Debug)]
pub(crate) struct TestGateway {
    pub(crate) servers: Vec<RealServer>,
    /// Arguments after `kitbag serve`.
    flags: &'static [&'static str],
    folder: TempDir,
    serving: std::cell::OnceCell<Serving>,
}

#[derive(Debug)]
struct Serving {
    process: Child,
    endpoint: String,
}

impl TestGateway {
    /// On the surface `all`.
    pub(crate) fn with(servers: fn(&Path) -> Vec<RealServer>) -> Self {
        Self::new(servers, &["--surface", "all"])
    }

    /// On the default surface.
    pub(crate) fn by_default(servers: fn(&Path) -> Vec<RealServer>) -> Self {
        Self::new(servers, &[])
    }

    /// On the surface `code`.
    pub(crate) fn on_code(servers: fn(&Path) -> Vec<RealServer>) -> Self {
        Self::new(servers, &["--surface", "code"])
    }

    /// Without servers; with these tables in the configuration.
    pub(crate) fn in_front_of(tables: &str) -> Self {
        let test_gateway = Self::new(|_| Vec::new(), &[]);
        let config = test_gateway.folder.path().join("kitbag.toml");
        fs::write(config, configuration(&[]) + tables).unwrap();
        test_gateway
    }

    fn new(servers: fn(&Path) -> Vec<RealServer>, flags: &'static [&'static str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let servers = servers(folder.path());
        fs::write(folder.path().join("kitbag.toml"), configuration(&servers)).unwrap();
        Self {
            servers,
            flags,
            folder,
            serving: std::cell::OnceCell::new(),
        }
    }

    /// The URL for HTTP clients; starts the gateway if necessary.
    pub(crate) fn endpoint(&self) -> &str {
        &self
            .serving
            .get_or_init(|| Serving::start(&self.command()))
            .endpoint
    }

    /// The command that a stdio client launches.
    pub(crate) fn command(&self) -> Vec<String> {
        self.kitbag(&[&["serve"], self.flags].concat())
    }

    /// Lists every server, as a user does after configuring them.
    #[track_caller]
    pub(crate) fn introduce_servers(&self) {
        self.run(&["servers", "test"]);
    }

    /// Runs a verb that must succeed, and returns what it prints.
    #[track_caller]
    pub(crate) fn run(&self, verb: &[&str]) -> String {
        let command = self.kitbag(verb);
        let output = Command::new(&command[0])
            .args(&command[1..])
            .output()
            .unwrap();
        let printed = [output.stdout, output.stderr].concat();
        let printed = String::from_utf8_lossy(&printed).into_owned();
        assert!(output.status.success(), "{verb:?}: {printed}");
        printed
    }

    /// A file in the folder of the gateway.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The page at `/metrics`.
    pub(crate) fn metrics(&self) -> String {
        let url = self.endpoint().replace("/mcp", "/metrics");
        let page = Command::new("curl").args(["-sf", &url]).output().unwrap();
        String::from_utf8(page.stdout).unwrap()
    }

    fn kitbag(&self, verb: &[&str]) -> Vec<String> {
        let config = self.folder.path().join("kitbag.toml");
        let data = self.folder.path().join("data");
        let folders = [
            "--config",
            config.to_str().unwrap(),
            "--data-dir",
            data.to_str().unwrap(),
        ];
        [&[KITBAG], verb, &folders]
            .concat()
            .into_iter()
            .map(str::to_owned)
            .collect()
    }

    /// `None` on stdio, where the gateway is the client's child.
    pub(crate) fn gateway_pid(&self) -> Option<u32> {
        self.serving.get().map(|serving| serving.process.id())
    }
}

impl Serving {
    fn start(command: &[String]) -> Self {
        let mut process = Command::new(&command[0])
            .args(&command[1..])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap())
            .lines()
            .map_while(Result::ok);
        let endpoint = lines
            .find_map(|line| address(&line))
            .expect("the gateway prints its endpoint");
        std::thread::spawn(move || lines.for_each(drop));
        Self { process, endpoint }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        processes::end(&mut self.process);
    }
}

fn address(line: &str) -> Option<String> {
    let start = line.find("http://127.0.0.1:")?;
    let end = line[start..]
        .find(|c: char| c.is_whitespace() || c == '"')
        .map_or(line.len(), |length| start + length);
    Some(line[start..end].to_owned())
}

/// JSON strings and arrays of strings are valid TOML.
fn configuration(servers: &[RealServer]) -> String {
    let mut text = "[serve]\nbind = \"127.0.0.1:0\"\n".to_owned();
    for server in servers {
        let (command, args) = (
            Value::from(server.command.to_str()),
            Value::from(server.args.clone()),
        );
        write!(
            text,
            "\n[servers.{}]\ncommand = {command}\nargs = {args}\n",
            server.name
        )
        .unwrap();
        for (name, value) in &server.env {
            writeln!(text, "env.{name} = {}", Value::from(value.as_str())).unwrap();
        }
    }
    text
}

/// The folder of `cargo xtask setup`.
pub(crate) fn tools() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.tools");
    let tools = std::env::var_os("KITBAG_TOOLS").map_or(here, PathBuf::from);
    tools
        .canonicalize()
        .expect("the servers and clients are installed by `cargo xtask setup`")
}

pub(crate) const KITBAG: &str = env!("CARGO_BIN_EXE_kitbag");
