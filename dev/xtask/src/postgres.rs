//! A PostgreSQL server for tests, in a temporary directory, while a command runs.
//!
//! The server listens on a socket in its directory and on no port, so that any number of them can
//! run concurrently. PostgreSQL refuses to run as root; started by root, it runs as the user
//! `postgres`, or as the user with the fewest rights.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use crate::{processes, setup};

/// The address of the server, for tests over PostgreSQL.
pub const ADDRESS: &str = "KITBAG_TEST_POSTGRES";
/// The directory of the server's programs, for tests that start and stop a server of their own.
pub const PROGRAMS: &str = "KITBAG_TEST_POSTGRES_PROGRAMS";
/// `UID:GID` of the user that such a server runs as; not set if it is the current user.
pub const USER: &str = "KITBAG_TEST_POSTGRES_USER";

const START_LIMIT: Duration = Duration::from_secs(60);
const STOP_LIMIT: Duration = Duration::from_secs(20);

/// Runs a command with a running server.
pub fn run(words: &[&str]) -> anyhow::Result<()> {
    let [program, arguments @ ..] = words else {
        bail!("missing command: cargo xtask postgres -- COMMAND…");
    };
    let server = PostgresServer::start()?;
    processes::run(server.announce(Command::new(program).args(arguments)))
}

/// Reports which package to install if PostgreSQL is missing, and installs it if that is permitted.
pub fn install() -> anyhow::Result<()> {
    if programs().is_none() {
        setup::install_system_packages("postgres", &["postgresql"])?;
    }
    Ok(())
}

/// A running server; it stops when this value is dropped, and its directory is removed.
#[derive(Debug)]
pub struct PostgresServer {
    folder: PathBuf,
    programs: PathBuf,
    user: Option<Unprivileged>,
    process: Child,
}

/// The user that a server runs as when root starts it.
#[derive(Debug, Clone, Copy)]
struct Unprivileged {
    uid: u32,
    gid: u32,
}

impl PostgresServer {
    pub fn start() -> anyhow::Result<Self> {
        let programs = programs().context(
            "PostgreSQL is not installed, and tests of the store need it: apt-get install postgresql",
        )?;
        let user = setup::is_root().then(find_unprivileged_user);
        let folder = create_folder(user)?;
        initialize(&programs, &folder, user)?;
        let process = serve(&programs, &folder, user)?;
        let mut server = Self {
            folder,
            programs,
            user,
            process,
        };
        server.wait_until_ready()?;
        Ok(server)
    }

    #[must_use]
    pub fn address(&self) -> String {
        let socket = self.folder.display().to_string().replace('/', "%2F");
        format!("postgres://kitbag@{socket}/postgres")
    }

    /// Sets the variables that tell a command where the server is.
    pub fn announce<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.env(ADDRESS, self.address());
        command.env(PROGRAMS, &self.programs);
        if let Some(user) = self.user {
            command.env(USER, format!("{}:{}", user.uid, user.gid));
        }
        command
    }

    fn wait_until_ready(&mut self) -> anyhow::Result<()> {
        let deadline = Instant::now() + START_LIMIT;
        let mut ready = Command::new(self.programs.join("pg_isready"));
        ready.arg("--quiet").arg("--host").arg(&self.folder);
        while !processes::output(&mut ready)?.0.success() {
            if self.process.try_wait()?.is_some() || Instant::now() > deadline {
                bail!("PostgreSQL did not start: {}", self.log());
            }
            thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        // SIGINT makes the server stop at once, even while clients are connected.
        let pid = self.process.id().to_string();
        let _ = Command::new("kill").args(["-INT", &pid]).status();
        let deadline = Instant::now() + STOP_LIMIT;
        while Instant::now() < deadline && matches!(self.process.try_wait(), Ok(None)) {
            thread::sleep(Duration::from_millis(20));
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The directory with the programs of the newest installed server. Debian does not put them on the
/// path.
fn programs() -> Option<PathBuf> {
    let debian = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let mut folders: Vec<_> = debian
        .filter_map(|version| Some(version.ok()?.path().join("bin")))
        .filter(|folder| folder.join("initdb").is_file())
        .collect();
    folders.sort_by_key(|folder| version_of(folder));
    folders.pop().or_else(on_path)
}

fn version_of(programs: &Path) -> u32 {
    let version = programs.parent().and_then(Path::file_name);
    version
        .and_then(|name| name.to_str()?.parse().ok())
        .unwrap_or(0)
}

fn on_path() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).find(|folder| folder.join("initdb").is_file())
}

/// The user that Linux maps unknown users to, who owns nothing.
const FEWEST_RIGHTS: Unprivileged = Unprivileged {
    uid: 65_534,
    gid: 65_534,
};

fn find_unprivileged_user() -> Unprivileged {
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    user_in(&users, "postgres").unwrap_or(FEWEST_RIGHTS)
}

fn user_in(users: &str, wanted: &str) -> Option<Unprivileged> {
    let line = users
        .lines()
        .find(|line| line.split(':').next() == Some(wanted))?;
    let mut fields = line.split(':').skip(2);
    Some(Unprivileged {
        uid: fields.next()?.parse().ok()?,
        gid: fields.next()?.parse().ok()?,
    })
}

/// In the directory for temporary files, because the path of a socket may have 107 letters at most.
fn create_folder(user: Option<Unprivileged>) -> anyhow::Result<PathBuf> {
    let name = format!("kitbag-postgres-{}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    DirBuilder::new()
        .mode(0o700)
        .create(&folder)
        .with_context(|| format!("creating {}", folder.display()))?;
    if let Some(Unprivileged { uid, gid }) = user {
        chown(&folder, Some(uid), Some(gid))?;
    }
    Ok(folder)
}

fn initialize(programs: &Path, folder: &Path, user: Option<Unprivileged>) -> anyhow::Result<()> {
    let mut initdb = command(&programs.join("initdb"), folder, user);
    initdb
        .args(["--username=kitbag", "--auth=trust", "--encoding=UTF8"])
        .args(["--locale=C", "--pgdata"])
        .arg(folder.join("data"));
    let (status, printed) = processes::output(&mut initdb)?;
    if !status.success() {
        bail!("initdb ended with {status}:\n{printed}");
    }
    Ok(())
}

fn serve(programs: &Path, folder: &Path, user: Option<Unprivileged>) -> anyhow::Result<Child> {
    let log = fs::File::create(folder.join("log")).context("creating the log of PostgreSQL")?;
    let mut postgres = command(Path::new("setpriv"), folder, user);
    postgres
        // The server stops with this program, even if that is killed.
        .args(["--pdeathsig", "INT"])
        .arg(programs.join("postgres"))
        .arg("-D")
        .arg(folder.join("data"))
        .arg("-k")
        .arg(folder)
        // Tests run concurrently, and each has a pool or two.
        .args(["-c", "listen_addresses=", "-c", "max_connections=300"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log);
    postgres.spawn().context("starting PostgreSQL")
}

fn command(program: &Path, folder: &Path, user: Option<Unprivileged>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder);
    if let Some(Unprivileged { uid, gid }) = user {
        command.uid(uid).gid(gid);
    }
    command
}

#[cfg(test)]
mod tests {
    use super::user_in;

    #[test]
    fn a_user_is_found_by_its_whole_name() {
        let users = "root:x:0:0::/root:/bin/sh\npostgres2:x:7:7::/:/x\npostgres:x:101:104:PostgreSQL:/:/x\n";
        let found = user_in(users, "postgres").unwrap();
        assert_eq!((found.uid, found.gid), (101, 104));
        assert!(user_in(users, "kitbag").is_none());
    }
}
