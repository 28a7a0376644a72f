//! A PostgreSQL server that belongs to one test, which may stop, crash, freeze and starve it.

use std::fs;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::processes::{alive, children};

#[derive(Debug)]
pub struct OwnPostgres {
    folder: TempDir,
    programs: PathBuf,
    user: Option<(u32, u32)>,
    process: Option<Child>,
    /// The port in the name of the socket. The server listens on it only if it is configured to.
    port: u16,
    settings: Vec<String>,
}

impl OwnPostgres {
    pub async fn start() -> Self {
        let mut server = Self::prepare();
        server.start_again().await;
        server
    }

    /// A server with its files that is not running yet.
    #[must_use]
    pub fn prepare() -> Self {
        let programs = std::env::var_os("KITBAG_TEST_POSTGRES_PROGRAMS").expect(
            "these tests start PostgreSQL: run them as `cargo xtask postgres -- cargo nextest run …`",
        );
        let folder = tempfile::tempdir().unwrap();
        let user = user();
        if let Some((uid, gid)) = user {
            chown(folder.path(), Some(uid), Some(gid)).unwrap();
        }
        let server = Self {
            folder,
            programs: programs.into(),
            user,
            process: None,
            port: 5432,
            settings: Vec::new(),
        };
        server.initialize();
        server
    }

    fn initialize(&self) {
        // Segments of one megabyte, so that the log fits below the limit of a starved server.
        let done = self
            .command("initdb")
            .args(["--username=kitbag", "--auth=trust", "--encoding=UTF8"])
            .args(["--locale=C", "--wal-segsize=1", "--no-sync", "--pgdata"])
            .arg(self.folder.path().join("data"))
            .stdout(Stdio::null())
            .status();
        assert!(done.unwrap().success());
    }

    pub async fn start_again(&mut self) {
        let log = fs::File::create(self.folder.path().join("log")).unwrap();
        let mut postgres = self.command("postgres");
        postgres
            .arg("-D")
            .arg(self.folder.path().join("data"))
            .arg("-k")
            .arg(self.folder.path())
            .args(["-c", "listen_addresses=", "-p", &self.port.to_string()])
            .args(self.settings.iter().flat_map(|setting| ["-c", setting]))
            .stdout(Stdio::null())
            .stderr(log);
        self.process = Some(postgres.spawn().unwrap());
        while !self.is_ready() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Makes the server listen on a free port of this machine, too.
    pub fn listen(&mut self) {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        self.port = free.local_addr().unwrap().port();
        self.set("listen_addresses=127.0.0.1");
    }

    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Adds a setting, such as `ssl=on`, for the next start.
    pub fn set(&mut self, setting: &str) {
        self.settings.push(setting.to_owned());
    }

    fn is_ready(&self) -> bool {
        let mut asked = self.command("pg_isready");
        asked.arg("--quiet").arg("--host").arg(self.folder.path());
        asked.args(["--port", &self.port.to_string()]);
        asked.status().unwrap().success()
    }

    fn command(&self, program: &str) -> Command {
        self.as_server(Command::new(self.programs.join(program)))
    }

    /// Runs the command as the user of the server.
    pub fn as_server(&self, mut command: Command) -> Command {
        command.current_dir(self.folder.path());
        if let Some((uid, gid)) = self.user {
            command.uid(uid).gid(gid);
        }
        command
    }

    /// Ends the connections and the server gracefully.
    pub fn stop(&mut self) {
        self.end("-INT");
    }

    /// Ends the server like a power failure: nothing more is written.
    pub fn crash(&mut self) {
        self.end("-QUIT");
    }

    fn end(&mut self, signal: &str) {
        if let Some(mut process) = self.process.take() {
            send(signal, process.id());
            process.wait().unwrap();
        }
    }

    /// Freezes the processes of the server. Connections stay open and are not answered.
    pub fn freeze(&self) {
        self.processes()
            .into_iter()
            .for_each(|pid| send("-STOP", pid));
    }

    pub fn thaw(&self) {
        self.processes()
            .into_iter()
            .for_each(|pid| send("-CONT", pid));
    }

    /// Limits the size of the server's files, as if its disk were full.
    pub fn limit_files(&self, bytes: &str) {
        for pid in self.processes() {
            let mut prlimit = self.as_server(Command::new("prlimit"));
            prlimit
                .arg(format!("--fsize={bytes}:"))
                .args(["--pid", &pid.to_string()])
                .stderr(Stdio::null());
            let limited = prlimit.status().unwrap().success();
            assert!(limited || !alive(pid), "{pid} still runs");
        }
    }

    /// The server, and the processes that serve its connections.
    fn processes(&self) -> Vec<u32> {
        let server = self.process.as_ref().expect("the server runs").id();
        std::iter::once(server).chain(children(server)).collect()
    }

    /// A directory that is removed with the server.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    #[must_use]
    pub fn url(&self) -> String {
        let socket = self.folder.path().display().to_string();
        let (socket, port) = (socket.replace('/', "%2F"), self.port);
        format!("postgres://kitbag@{socket}:{port}/postgres")
    }
}

impl Drop for OwnPostgres {
    fn drop(&mut self) {
        if self.process.is_some() {
            self.thaw();
            self.stop();
        }
    }
}

fn user() -> Option<(u32, u32)> {
    let text = std::env::var("KITBAG_TEST_POSTGRES_USER").ok()?;
    let (uid, gid) = text.split_once(':')?;
    Some((uid.parse().ok()?, gid.parse().ok()?))
}

/// Sends a signal, such as `-STOP`, to a process.
pub fn send(signal: &str, pid: u32) {
    // A process that has ended in the meantime needs no signal.
    let _ = Command::new("kill")
        .args([signal, &pid.to_string()])
        .stderr(Stdio::null())
        .status();
}
