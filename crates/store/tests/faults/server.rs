//! A PostgreSQL server that belongs to one test, which may stop, crash, freeze and starve it.

use std::fs;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use kitbag_store::StoreAddress;
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection};
use tempfile::TempDir;

pub(crate) struct OwnServer {
    folder: TempDir,
    programs: PathBuf,
    user: Option<(u32, u32)>,
    process: Option<Child>,
    /// The port that is in the name of the socket. Only a server with settings for that listens on it.
    port: u16,
    settings: Vec<String>,
}

impl OwnServer {
    pub(crate) async fn start() -> Self {
        let mut server = Self::prepare();
        server.start_again().await;
        server
    }

    /// A server that has its files and does not run yet.
    pub(crate) fn prepare() -> Self {
        let programs = std::env::var_os("KITBAG_TEST_POSTGRES_PROGRAMS").expect(
            "these tests start PostgreSQL: run them as `cargo xtask postgres -- cargo nextest run -p kitbag-store`",
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
        server.initialise();
        server
    }

    fn initialise(&self) {
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

    pub(crate) async fn start_again(&mut self) {
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
        while PgConnection::connect(&self.url()).await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Makes the server listen on a free port of this machine, too.
    pub(crate) fn listen(&mut self) {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        self.port = free.local_addr().unwrap().port();
        self.set("listen_addresses=127.0.0.1");
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn set(&mut self, setting: &str) {
        self.settings.push(setting.to_owned());
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn command(&self, program: &str) -> Command {
        self.as_server(Command::new(self.programs.join(program)))
    }

    /// Runs the command as the user of the server.
    pub(crate) fn as_server(&self, mut command: Command) -> Command {
        command.current_dir(self.folder.path());
        if let Some((uid, gid)) = self.user {
            command.uid(uid).gid(gid);
        }
        command
    }

    /// Ends the connections and the server, in good order.
    pub(crate) fn stop(&mut self) {
        self.end("-INT");
    }

    /// Ends the server as a power cut would: nothing is written any more.
    pub(crate) fn crash(&mut self) {
        self.end("-QUIT");
    }

    fn end(&mut self, signal: &str) {
        if let Some(mut process) = self.process.take() {
            send(signal, process.id());
            process.wait().unwrap();
        }
    }

    /// Stops the processes of the server where they are. Connections stay open and are not answered.
    pub(crate) fn freeze(&self) {
        self.processes()
            .into_iter()
            .for_each(|pid| send("-STOP", pid));
    }

    /// Stops the process of one connection: the one whose last statement this was.
    pub(crate) async fn freeze_connection(&self, statement: &str) {
        let select =
            "SELECT pid FROM pg_stat_activity WHERE application_name = 'kitbag' AND query = $1";
        let pids: Vec<i32> = sqlx::query_scalar(select)
            .bind(statement)
            .fetch_all(&mut self.session().await)
            .await
            .unwrap();
        assert!(!pids.is_empty());
        pids.into_iter()
            .for_each(|pid| send("-STOP", pid.unsigned_abs()));
    }

    pub(crate) fn thaw(&self) {
        self.processes()
            .into_iter()
            .for_each(|pid| send("-CONT", pid));
    }

    /// Lets no file of the server grow beyond that many bytes, as if its disk were full.
    pub(crate) fn limit_files(&self, bytes: &str) {
        for pid in self.processes() {
            let mut prlimit = self.as_server(Command::new("prlimit"));
            prlimit
                .arg(format!("--fsize={bytes}:"))
                .args(["--pid", &pid.to_string()])
                .stderr(Stdio::null());
            let limited = prlimit.status().unwrap().success();
            assert!(limited || parent(pid).is_none(), "{pid} still runs");
        }
    }

    /// The server, and the processes that serve its connections.
    fn processes(&self) -> Vec<u32> {
        let server = self.process.as_ref().expect("the server runs").id();
        let others = fs::read_dir("/proc").unwrap().filter_map(|entry| {
            let pid = entry.ok()?.file_name().to_str()?.parse().ok()?;
            (parent(pid)? == server).then_some(pid)
        });
        std::iter::once(server).chain(others).collect()
    }

    pub(crate) fn url(&self) -> String {
        let socket = self.folder.path().display().to_string();
        let (socket, port) = (socket.replace('/', "%2F"), self.port);
        format!("postgres://kitbag@{socket}:{port}/postgres")
    }

    /// An address with short limits, so that a test need not wait long.
    pub(crate) fn address(&self) -> StoreAddress {
        let url = self.url();
        let limits = "statement_timeout=3000&connect_timeout=1";
        let data = self.folder.path().join("kitbag");
        StoreAddress::parse(&format!("{url}?{limits}"), &data).unwrap()
    }

    /// A connection past the store.
    pub(crate) async fn session(&self) -> PgConnection {
        let mut session = PgConnection::connect(&self.url()).await.unwrap();
        execute(&mut session, "SET search_path = kitbag").await;
        session
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        if self.process.is_some() {
            self.thaw();
            self.stop();
        }
    }
}

pub(crate) async fn execute(session: &mut PgConnection, sql: &str) {
    let done = sqlx::query(AssertSqlSafe(sql.to_owned()))
        .execute(session)
        .await;
    done.unwrap();
}

/// Cuts every connection of Kitbag that fits the condition. Returns true if there was one.
pub(crate) async fn cut(session: &mut PgConnection, condition: &str) -> bool {
    let select =
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'kitbag'";
    let cut = sqlx::query(AssertSqlSafe(format!("{select} AND {condition}")))
        .execute(session)
        .await
        .unwrap();
    cut.rows_affected() > 0
}

fn user() -> Option<(u32, u32)> {
    let text = std::env::var("KITBAG_TEST_POSTGRES_USER").ok()?;
    let (uid, gid) = text.split_once(':')?;
    Some((uid.parse().ok()?, gid.parse().ok()?))
}

fn parent(pid: u32) -> Option<u32> {
    let status =
        fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
    line.trim().parse().ok()
}

fn send(signal: &str, pid: u32) {
    // A process that has ended in the meantime needs no signal.
    let _ = Command::new("kill")
        .args([signal, &pid.to_string()])
        .stderr(Stdio::null())
        .status();
}
