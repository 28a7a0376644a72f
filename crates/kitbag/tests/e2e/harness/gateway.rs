//! A home folder with a configuration, and the gateways started in it.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kitbag_store::StoreAddress;
use kitbag_testkit::home::CommandOutcome;
use kitbag_testkit::programs::kitbag;
use tempfile::TempDir;

use super::client::{Client, ClientBuilder, Era};
use super::store::StoreOfHome;
use super::{exchange, processes};

/// Outlives its gateways, so that a test can start one after another.
#[derive(Debug)]
pub(crate) struct Home {
    folder: TempDir,
    environment: Mutex<Vec<(String, String)>>,
    /// The limit on open files of a gateway at its start; by default the limit of the test.
    files: Mutex<Option<usize>>,
    /// A copy of the program to start gateways from.
    program: Mutex<Option<PathBuf>>,
    store: StoreOfHome,
}

impl Home {
    pub(crate) fn new(config: &str) -> Arc<Self> {
        let folder = tempfile::tempdir().unwrap();
        let home = Self {
            folder,
            environment: Mutex::default(),
            files: Mutex::default(),
            program: Mutex::default(),
            store: StoreOfHome::new(),
        };
        home.configure(config);
        Arc::new(home)
    }

    /// Replaces the configuration: `[servers.*]` and any other tables. A `[serve]` table must bind
    /// `127.0.0.1:0`. The built-in server is disabled unless the test has `[agents]`, and unknown tenants
    /// are allowed unless it has `[tenants]`.
    pub(crate) fn configure(&self, config: &str) {
        let serve = if config.contains("[serve]") {
            ""
        } else {
            "[serve]\nbind = \"127.0.0.1:0\"\n"
        };
        let agents = if config.contains("[agents]") {
            ""
        } else {
            "[agents]\nenabled = false\n"
        };
        let tenants = if config.contains("[tenants]") {
            ""
        } else {
            "[tenants]\nunknown = \"allow\"\n"
        };
        let store = if config.contains("[store]") {
            String::new()
        } else {
            self.store.table()
        };
        let text = format!("{serve}{agents}{tenants}{store}{config}");
        fs::write(self.path("kitbag.toml"), text).unwrap();
    }

    pub(crate) fn path(&self, inside: &str) -> PathBuf {
        self.folder.path().join(inside)
    }

    /// The store of its gateways, unless a test configures another.
    pub(crate) fn store_address(&self) -> StoreAddress {
        self.store.address(self.folder.path())
    }

    /// Sets a variable for gateways and verbs started later.
    pub(crate) fn export(&self, name: &str, value: &str) {
        self.environment
            .lock()
            .unwrap()
            .push((name.to_owned(), value.to_owned()));
    }

    /// Limits the open files of gateways started later.
    pub(crate) fn begin_with_files(&self, files: usize) {
        *self.files.lock().unwrap() = Some(files);
    }

    /// Starts later gateways from a copy of the program, which the test may damage.
    pub(crate) fn copy_program(&self) -> PathBuf {
        let copy = self.path("kitbag");
        fs::copy(kitbag(), &copy).unwrap();
        *self.program.lock().unwrap() = Some(copy.clone());
        copy
    }

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let program = self.program.lock().unwrap().clone();
        let mut command = match *self.files.lock().unwrap() {
            None => Command::new(program.unwrap_or_else(kitbag)),
            Some(files) => {
                let mut shell = Command::new("sh");
                let limited = format!("ulimit -Sn {files} && exec \"$0\" \"$@\"");
                shell.args(["-c", &limited]).arg(kitbag());
                shell
            }
        };
        command
            .args(words)
            .current_dir(self.folder.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.folder.path())
            .env("KITBAG_CONFIG", self.path("kitbag.toml"))
            .env("KITBAG_DATA_DIR", self.path("data"))
            .env("COLUMNS", "200")
            .envs(self.environment.lock().unwrap().clone());
        command
    }

    /// Runs a verb to its end.
    pub(crate) async fn kitbag(&self, words: &[&str]) -> CommandOutcome {
        let mut command = self.command(words);
        let output = tokio::task::spawn_blocking(move || command.output().unwrap())
            .await
            .unwrap();
        CommandOutcome::from_output(&output)
    }

    /// Creates a key for a tenant.
    pub(crate) async fn key(&self, tenant: &str) -> String {
        let printed = self
            .kitbag(&["key", "create", "--tenant", tenant, "--json"])
            .await;
        let created: serde_json::Value =
            serde_json::from_str(&printed.stdout).unwrap_or_else(|_| panic!("{printed:?}"));
        created["key"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn serve(self: &Arc<Self>) -> Gateway {
        let home = self.clone();
        tokio::task::spawn_blocking(move || Gateway::start(home))
            .await
            .unwrap()
    }
}

/// A gateway that serves HTTP; it ends with the test.
#[derive(Debug)]
pub(crate) struct Gateway {
    pub(crate) home: Arc<Home>,
    /// Without a path: `http://127.0.0.1:PORT`.
    pub(crate) base: String,
    child: Child,
    log: Arc<Mutex<String>>,
}

impl Gateway {
    /// In a new home.
    pub(crate) async fn with(config: &str) -> Self {
        Home::new(config).serve().await
    }

    fn start(home: Arc<Home>) -> Self {
        let mut child = home
            .command(&["serve", "--log", "debug,hyper=warn,reqwest=warn,sqlx=warn"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let log = keep(child.stderr.take().unwrap());
        let mut lines = BufReader::new(child.stdout.take().unwrap())
            .lines()
            .map_while(Result::ok);
        let Some(base) = lines.find_map(|line| base(&line)) else {
            let _ = child.wait();
            panic!("the gateway named no endpoint:\n{}", log.lock().unwrap());
        };
        std::thread::spawn(move || lines.for_each(drop));
        Self {
            home,
            base,
            child,
            log,
        }
    }

    /// A client at `/mcp/all`, connected and without capabilities.
    pub(crate) async fn client(&self, era: Era) -> Client {
        self.client_at("/mcp/all", era).connect().await
    }

    /// A client at any path, before its first request.
    pub(crate) fn client_at(&self, path: &str, era: Era) -> ClientBuilder {
        Client::to(format!("{}{path}", self.base), era)
    }

    /// Posts exactly these headers and bytes.
    pub(crate) async fn post(
        &self,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<reqwest::Body>,
    ) -> exchange::Reply {
        exchange::post(
            &reqwest::Client::new(),
            &format!("{}{path}", self.base),
            headers,
            body,
        )
        .await
        .finish()
        .await
    }

    /// Its peak memory so far, in bytes.
    pub(crate) fn peak_memory(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let peak = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))
            .expect("the kernel tells");
        peak.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
    }

    /// True if `/health` succeeds.
    pub(crate) async fn is_healthy(&self) -> bool {
        let asked = reqwest::get(format!("{}/health", self.base)).await;
        asked.is_ok_and(|answer| answer.status().is_success())
    }

    pub(crate) fn memory(&self) -> processes::Memory {
        processes::memory(self.child.id())
    }

    /// The soft and hard limits on open files.
    pub(crate) fn open_files(&self) -> (usize, usize) {
        processes::open_files(self.child.id())
    }

    /// The running processes that it has launched.
    pub(crate) fn children(&self) -> Vec<u32> {
        processes::children(self.child.id())
    }

    /// Its stderr so far.
    pub(crate) fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// Sends SIGTERM, like a service manager.
    pub(crate) fn terminate(&self) {
        processes::terminate(self.child.id());
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(Some(_)))
    }

    /// Asks it to end and waits for that.
    pub(crate) async fn stop(mut self) -> ExitStatus {
        self.terminate();
        let waiting = tokio::task::spawn_blocking(move || {
            let status = processes::wait(&mut self.child, super::PATIENCE);
            status.unwrap_or_else(|| panic!("the gateway does not end:\n{}", self.log()))
        });
        waiting.await.unwrap()
    }

    /// Sends SIGKILL.
    pub(crate) async fn kill(mut self) {
        processes::kill(self.child.id());
        tokio::task::spawn_blocking(move || self.child.wait().unwrap())
            .await
            .unwrap();
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(Some(_))) {
            return;
        }
        // Gracefully first: only the gateway knows which servers it has to stop.
        processes::terminate(self.child.id());
        if processes::wait(&mut self.child, Duration::from_secs(60)).is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
        if std::thread::panicking() {
            eprintln!("--- log of the gateway ---\n{}", self.log());
        }
    }
}

/// Reads a stream to its end in the background.
pub(crate) fn keep(mut stream: impl Read + Send + 'static) -> Arc<Mutex<String>> {
    let kept = Arc::new(Mutex::new(String::new()));
    let copy = kept.clone();
    std::thread::spawn(move || {
        let mut buffer = [0; 8192];
        while let Ok(length @ 1..) = stream.read(&mut buffer) {
            copy.lock()
                .unwrap()
                .push_str(&String::from_utf8_lossy(&buffer[..length]));
        }
    });
    kept
}

fn base(line: &str) -> Option<String> {
    let start = line.find("http://127.0.0.1:")?;
    let url = line[start..].split_whitespace().next()?;
    Some(url.strip_suffix("/mcp").unwrap_or(url).to_owned())
}
