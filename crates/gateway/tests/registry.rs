//! Servers out of the registry, through the real binary and a registry of our own.

#![expect(clippy::unwrap_used, reason = "a test says so by failing")]

#[path = "../../registry/tests/registry/shelf.rs"]
mod shelf;

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::{Value, json};
use shelf::Shelf;
use tempfile::TempDir;

/// A home beside a registry, in which no program is installed but what a test puts there.
struct Desk {
    home: TempDir,
    shelf: Shelf,
}

struct Told {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Desk {
    async fn new() -> Self {
        let desk = Self {
            home: tempfile::tempdir().unwrap(),
            shelf: Shelf::open().await,
        };
        fs::create_dir(desk.path("bin")).unwrap();
        desk
    }

    fn path(&self, path: &str) -> PathBuf {
        self.home.path().join(path)
    }

    /// A program that notes how it was started, and then is the testbed.
    fn runner(&self, name: &str) {
        let testbed = Path::new(env!("CARGO_BIN_EXE_kitbag")).with_file_name("kitbag-testbed");
        assert!(testbed.exists(), "run `cargo build --workspace` first");
        let script = format!(
            "#!/bin/sh\nset -eu\nPATH=/usr/bin:/bin\n{{ echo \"$0 $*\"; env | sort; }} > {}\nexec {} stdio\n",
            self.path("noted").display(),
            testbed.display()
        );
        let path = self.path("bin").join(name);
        fs::write(&path, script).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kitbag"));
        command
            .args(words)
            .current_dir(self.home.path())
            .env_clear()
            .env("HOME", self.home.path());
        command
            .env("PATH", self.path("bin"))
            .env("KITBAG_REGISTRY_URL", &self.shelf.url);
        command
    }

    fn run(&self, words: &[&str]) -> Told {
        let output = self.command(words).stdin(Stdio::null()).output().unwrap();
        let text = |bytes: &[u8]| {
            String::from_utf8(bytes.to_vec())
                .unwrap()
                .replace(&self.shelf.url, "HERE")
        };
        Told {
            code: output.status.code(),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }

    #[track_caller]
    fn ok(&self, words: &[&str]) -> Told {
        let told = self.run(words);
        assert_eq!(told.code, Some(0), "{words:?}: {}", told.stderr);
        told
    }

    #[track_caller]
    fn fails(&self, words: &[&str]) -> String {
        let told = self.run(words);
        assert_eq!(
            (told.code, told.stdout.as_str()),
            (Some(1), ""),
            "{words:?}"
        );
        told.stderr
    }

    fn config(&self) -> String {
        fs::read_to_string(self.path(".config/kitbag/kitbag.toml")).unwrap_or_default()
    }

    fn noted(&self) -> String {
        fs::read_to_string(self.path("noted")).unwrap()
    }
}

const WEATHER: &str = "io.github.acme/weather";

#[tokio::test(flavor = "multi_thread")]
async fn servers_are_found_best_first_in_a_table_that_fits() {
    let desk = Desk::new().await;
    let table = desk.ok(&["servers", "find", "weather", "forecasts"]).stdout;
    let lines: Vec<_> = table.lines().collect();
    assert!(
        lines[1].starts_with("io.github.acme/weather   npm  Forecasts for any place"),
        "{table}"
    );
    assert!(
        lines[2].contains("io.github.older/weather  npm  (given up) Weather as it was"),
        "{table}"
    );
    assert_eq!(*lines.last().unwrap(), "Add one: kitbag servers add NAME");
    assert_eq!(
        desk.shelf.asked(),
        ["weather forecasts", "weather", "forecasts"]
    );

    let table = desk.ok(&["servers", "find", "acme", "--limit", "3"]).stdout;
    assert!(table.contains("3 of 7; the others: --limit 7"), "{table}");
    let table = desk.ok(&["servers", "find", "i"]).stdout;
    assert!(!table.contains('\u{1b}'), "{table}");
    assert!(table.contains("npm, pypi"), "{table}");

    let rows: Value =
        serde_json::from_str(&desk.ok(&["servers", "find", "weather", "--json"]).stdout).unwrap();
    assert_eq!(rows.as_array().unwrap().len(), 2);
    assert_eq!(
        rows[0],
        json!({
            "name": WEATHER, "title": "Weather", "version": "1.1.0", "description": "Forecasts for any place",
            "kinds": ["npm"], "deprecated": false, "repository": "https://github.com/acme/weather",
        })
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_that_finds_nothing_or_nobody_says_what_to_do() {
    let desk = Desk::new().await;
    let told = desk.ok(&["servers", "find", "zzz"]);
    assert!(
        told.stdout.is_empty() && told.stderr.contains("No server in HERE has `zzz`"),
        "{}",
        told.stderr
    );
    assert_eq!(
        desk.ok(&["servers", "find", "zzz", "--json"]).stdout.trim(),
        "[]"
    );
    assert_eq!(
        desk.fails(&["servers", "find", "too-much"]),
        "error: the registry HERE takes no more requests for now (429)\n  try: try again in 7 seconds\n"
    );
    let told = desk.fails(&[
        "servers",
        "find",
        "x",
        "--registry-url",
        "http://127.0.0.1:1",
    ]);
    assert!(
        told.contains("http://127.0.0.1:1 cannot be reached")
            && told.contains("try: check the net"),
        "{told}"
    );
    assert_eq!(
        desk.run(&["servers", "find", "x", "--registry-url", "ftp://h"])
            .code,
        Some(2)
    );

    fs::create_dir_all(desk.path(".config/kitbag")).unwrap();
    fs::write(
        desk.path(".config/kitbag/kitbag.toml"),
        format!("[registry]\nurl = '{}/'\n", desk.shelf.url),
    )
    .unwrap();
    let mut command = desk.command(&["servers", "find", "ledger"]);
    let output = command.env_remove("KITBAG_REGISTRY_URL").output().unwrap();
    assert!(
        String::from_utf8(output.stdout)
            .unwrap()
            .contains("io.github.acme/ledger")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_entry_becomes_a_server_that_runs_and_its_secret_stays_out_of_the_file() {
    let desk = Desk::new().await;
    desk.runner("npx");
    let told = desk.ok(&[
        "servers",
        "add",
        WEATHER,
        "--set",
        "WEATHER_API_KEY=s3cret",
        "--set",
        "weather_units=imperial",
        "--yes",
    ]);
    assert!(
        told.stdout.contains("Added `weather`") && told.stdout.contains("It works"),
        "{}",
        told.stdout
    );
    for part in [
        "io.github.acme/weather 1.1.0, from HERE\n",
        "  Repository:  https://github.com/acme/weather\n",
        "  Package:     @acme/weather 1.1.0 (npm)\n  Would run:   npx -y @acme/weather@1.1.0 stdio\n",
        "`weather`, from the registry entry io.github.acme/weather 1.1.0 at HERE\n",
        "  Runs:        npx -y @acme/weather@1.1.0 stdio\n  Environment: WEATHER_API_KEY=",
        "WEATHER_UNITS=imperial\n",
        "  Optional:    --set WEATHER_PROXY=… A proxy, if you need one\n",
    ] {
        assert!(told.stderr.contains(part), "{part}: {}", told.stderr);
    }
    assert_eq!(
        desk.config(),
        "[servers.weather]\ncommand = \"npx\"\nargs = [\"-y\", \"@acme/weather@1.1.0\", \"stdio\"]\n\
         env = { WEATHER_API_KEY = \"${secret:weather.WEATHER_API_KEY}\", WEATHER_UNITS = \"imperial\" }\n"
    );
    let noted = desk.noted();
    assert!(
        noted.contains("bin/npx -y @acme/weather@1.1.0 stdio\n"),
        "{noted}"
    );
    assert!(
        noted.contains("\nWEATHER_API_KEY=s3cret\nWEATHER_UNITS=imperial\n"),
        "{noted}"
    );
    assert!(
        desk.ok(&["call", "weather__echo", "message=hi"])
            .stdout
            .contains("hi")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_missing_is_named_with_the_command_that_gives_it() {
    let desk = Desk::new().await;
    let told = desk.fails(&[
        "servers",
        "add",
        "io.github.acme/ledger",
        "--set",
        "--host=db",
    ]);
    let (_, error) = told.split_once("error: ").unwrap();
    assert_eq!(
        error,
        "`io.github.acme/ledger` needs 2 values from you\n  why: source       The folder of the books (a path)\n       \
         DB_PASSWORD  Of the database (a secret)\n  try: kitbag servers add io.github.acme/ledger --set --host=… \
         --set source=… --set DB_PASSWORD=…\n"
    );
    // What a stranger calls a variable is no reason to hand it over.
    let output = desk
        .command(&["servers", "add", WEATHER])
        .env("WEATHER_API_KEY", "s3cret")
        .output()
        .unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(
        told.contains("--set WEATHER_API_KEY=…")
            && !told.contains("${")
            && !told.contains("s3cret"),
        "{told}"
    );
    assert_eq!(desk.config(), "");

    let told = desk.fails(&["servers", "add", WEATHER, "--set", "WEATHER_API=x"]);
    assert!(
        told.contains("try: did you mean `WEATHER_API_KEY`?"),
        "{told}"
    );
    let told = desk.fails(&["servers", "add", WEATHER, "--set", "WEATHER_UNITS=kelvin"]);
    assert!(
        told.contains("error: `WEATHER_UNITS` must be one of metric, imperial"),
        "{told}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hosted_server_is_written_down_with_its_headers() {
    let desk = Desk::new().await;
    let add = [
        "servers",
        "add",
        "com.acme/mcp",
        "--disabled",
        "--set",
        "token=s3cret",
        "--set",
        "pin=${PIN}",
    ];
    let told = desk.ok(&[
        add.as_slice(),
        &["--set", "tenant=t1", "--set", "region=us", "--json"],
    ]
    .concat());
    let added: Value = serde_json::from_str(&told.stdout).unwrap();
    assert_eq!(
        added["origin"],
        json!({
            "name": "com.acme/mcp", "version": "2.0.0", "kind": "remote",
            "package": "https://{region}.acme.example/{tenant}/mcp",
        })
    );
    assert_eq!(
        desk.config(),
        "[servers.acme]\nurl = \"https://us.acme.example/t1/mcp\"\n\
         headers = { Authorization = \"Bearer ${secret:acme.token}\", X-Pin = \"${PIN}\" }\nenabled = false\n"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn name_form_and_version_can_be_chosen() {
    let desk = Desk::new().await;
    desk.runner("docker");
    let everywhere = [
        "servers",
        "add",
        "io.github.acme/everywhere",
        "--no-test",
        "--yes",
    ];
    desk.ok(&everywhere);
    desk.ok(&[
        everywhere.as_slice(),
        &["--as", "boxed", "--package", "oci"],
    ]
    .concat());
    desk.ok(&[
        "servers",
        "add",
        WEATHER,
        "--version",
        "1.0.0",
        "--as",
        "old",
        "--no-test",
        "--yes",
    ]);
    desk.ok(&[
        "servers",
        "add",
        "--registry",
        "notes",
        "--no-test",
        "--yes",
        "--set",
        "folder=~/a",
        "--set",
        "folder=b",
    ]);
    let here = fs::canonicalize(desk.home.path()).unwrap();
    assert_eq!(
        desk.config(),
        format!(
            "[servers.everywhere]\nurl = \"https://everywhere.example/mcp\"\n\n[servers.boxed]\ncommand = \"docker\"\n\
             args = [\"run\", \"-i\", \"--rm\", \"docker.io/acme/everywhere:1.0.0\"]\n\n[servers.old]\n\
             command = \"npx\"\nargs = [\"-y\", \"@acme/weather@1.0.0\"]\n\n[servers.notes]\ncommand = \"uvx\"\n\
             args = [\"--python\", \"3.12\", \"acme-notes==0.5.0\", \"serve\", \"--stdio\", \"--mode\", \"words\", \
             \"--read-only\", \"{}/a\", \"{}/b\"]\n",
            desk.home.path().display(),
            here.display()
        )
    );
    let before = desk.config();
    let told = desk.fails(&everywhere);
    assert!(
        told.contains("there is a server `everywhere` already") && told.contains("--force"),
        "{told}"
    );
    assert_eq!(desk.config(), before);
    desk.ok(&[everywhere.as_slice(), &["--force", "--package", "oci"]].concat());
    assert!(
        desk.config()
            .starts_with("[servers.everywhere]\ncommand = \"docker\"")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_or_should_not_be_added_is_told_apart() {
    let desk = Desk::new().await;
    let told = desk.fails(&["servers", "add", "io.github.gone/weather"]);
    assert!(
        told.contains("was taken back") && told.contains("kitbag servers find weather"),
        "{told}"
    );
    let told = desk
        .ok(&[
            "servers",
            "add",
            "io.github.older/weather",
            "--no-test",
            "-y",
        ])
        .stderr;
    assert!(
        told.contains("has given it up: Use io.github.acme/weather"),
        "{told}"
    );
    let told = desk.fails(&["servers", "add", "io.github.acme/bundle"]);
    assert!(
        told.contains("cannot be run from here\n  why: it comes as a bundle (MCPB)"),
        "{told}"
    );
    let told = desk.fails(&["servers", "add", "com.else/ledger"]);
    assert!(
        told.contains(
            "try: perhaps one of these:\n       kitbag servers add io.github.acme/ledger"
        ),
        "{told}"
    );
    let told = desk.fails(&["servers", "add", WEATHER, "--", "npx"]);
    assert!(told.contains("choose a name without `/`"), "{told}");
    let told = desk.fails(&["servers", "add", WEATHER, "--env", "A=1"]);
    assert!(told.contains("--set KEY=VALUE"), "{told}");
    let told = desk.fails(&["servers", "add", "time", "--set", "A=1", "--", "npx"]);
    assert!(
        told.contains("--set is for servers of the registry"),
        "{told}"
    );

    let told = desk.run(&["servers", "add", "time"]);
    assert_eq!(told.code, Some(2));
    for part in [
        "servers add time -- COMMAND",
        "servers add time URL",
        "add OWNER/NAME",
        "servers find time\n",
    ] {
        assert!(told.stderr.contains(part), "{part}: {}", told.stderr);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_in_an_entry_reads_a_variable_or_a_secret_of_ours() {
    let desk = Desk::new().await;
    desk.runner("npx");
    let mut keep = desk
        .command(&["secret", "set", "github.TOKEN"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    keep.stdin.take().unwrap().write_all(b"s3cret").unwrap();
    assert!(keep.wait().unwrap().success());
    let told = desk.ok(&["servers", "add", "io.github.mallory/helper", "--yes"]);
    assert!(told.stdout.contains("It works"), "{}", told.stdout);
    assert!(
        told.stderr.contains("LOOT='${secret:github.TOKEN}'") && !told.stderr.contains('\u{1b}'),
        "{}",
        told.stderr
    );
    let noted = desk.noted();
    assert!(noted.contains("npx -y helper@1.0.0 ${HOME}\n"), "{noted}");
    for line in [
        "LOOT=${secret:github.TOKEN}",
        "PARTS=${secret:github.TOKEN}",
        "GUESS=${HOME}",
    ] {
        assert!(noted.lines().any(|it| it == line), "{line}: {noted}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn at_a_terminal_the_person_is_asked_and_a_secret_does_not_show() {
    let desk = Desk::new().await;
    desk.runner("npx");
    let talk = [
        (
            "WEATHER_API_KEY: The key of your account (a secret)\r\n> ",
            "s3cret\n",
        ),
        ("Run this? [y/N] ", "y\n"),
    ];
    let shown = at_a_terminal(desk.command(&["servers", "add", WEATHER]), &talk);
    assert!(
        shown.contains("It works") && !shown.contains("s3cret"),
        "{shown}"
    );
    assert!(desk.noted().contains("\nWEATHER_API_KEY=s3cret\n"));

    let mut command = desk.command(&["servers", "add", "io.github.acme/ledger", "--no-test"]);
    command.env("DB_PASSWORD", "s3cret");
    let talk = [
        ("source: The folder of the books (a path)\r\n> ", "\n"),
        ("It cannot be left out.\r\n> ", "/books\n"),
        ("host: Of the database (like db.example)\r\n> ", "db\n"),
        ("DB_PASSWORD: Of the database (a secret)\r\n> ", "\n"),
        ("It cannot be left out.\r\n> ", "${DB_PASSWORD}\n"),
        ("opens a folder of the machine to the container", ""),
        ("Run this? [y/N] ", "yes\n"),
    ];
    at_a_terminal(command, &talk);
    let config = desk.config();
    assert!(
        config.contains("\"type=bind,src=/books,dst=/books\""),
        "{config}"
    );
    assert!(
        config.contains("DB_PASSWORD = \"${DB_PASSWORD}\""),
        "{config}"
    );

    let command = desk.command(&["servers", "add", "com.acme.notes/notes", "--no-test"]);
    let another = "another, or Enter > ";
    let talk = [
        ("(a path)\r\n> ", "/a\n"),
        (another, "/b\n"),
        (another, "\n"),
        ("[y/N] ", "y\n"),
    ];
    at_a_terminal(command, &talk);
    assert!(
        desk.config().contains("\"/a\", \"/b\"]"),
        "{}",
        desk.config()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_entry_runs_only_after_the_person_said_yes() {
    let desk = Desk::new().await;
    desk.runner("npx");
    let add = ["servers", "add", "io.github.mallory/helper"];
    for words in [
        &add[..],
        &[&add[..], &["--no-test"]].concat(),
        &[&add[..], &["--json"]].concat(),
    ] {
        let told = desk.fails(words);
        assert!(told.contains("LOOT='${secret:github.TOKEN}'"), "{told}");
        assert!(
            told.contains("kitbag servers add io.github.mallory/helper --yes"),
            "{told}"
        );
    }
    let (shown, code) = talked(desk.command(&add), &[("Run this? [y/N] ", "\n")]);
    assert!(
        code == Some(1) && shown.contains("you did not say yes"),
        "{shown}"
    );
    assert!(desk.config().is_empty() && !desk.path("noted").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_entry_does_beside_starting_a_server_is_marked() {
    let desk = Desk::new().await;
    desk.runner("npx");
    let told = desk.fails(&["servers", "add", "io.github.mallory/steered"]);
    for part in [
        "npx -y -c 'touch /tmp/x' steered@1.0.0",
        "LD_PRELOAD=/tmp/x.so",
        "npx -c: a shell runs the next word as a program",
        "LD_PRELOAD: decides what a program loads or runs",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
}

/// Everything the terminal showed, after each question got its answer.
#[track_caller]
fn at_a_terminal(command: Command, talk: &[(&str, &str)]) -> String {
    let (shown, code) = talked(command, talk);
    assert_eq!(code, Some(0), "{shown}");
    shown
}

/// The same, with how it ended.
#[track_caller]
fn talked(mut command: Command, talk: &[(&str, &str)]) -> (String, Option<i32>) {
    let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&controller).unwrap();
    unlockpt(&controller).unwrap();
    let name = ptsname(&controller, Vec::new()).unwrap();
    let terminal = || {
        Stdio::from(
            File::options()
                .read(true)
                .write(true)
                .open(name.to_str().unwrap())
                .unwrap(),
        )
    };
    command
        .args(["--color", "never"])
        .stdin(terminal())
        .stdout(terminal())
        .stderr(terminal());
    let mut child = command.spawn().unwrap();
    // Our own copies of the terminal would keep it open.
    drop(command);
    let mut controller = File::from(controller);
    let (mut shown, mut talk, mut from) = (String::new(), talk.iter(), 0);
    let mut next = talk.next();
    let mut part = [0; 1024];
    // Reading ends with an error once nobody has the terminal open.
    while let Ok(length @ 1..) = controller.read(&mut part) {
        shown.push_str(&String::from_utf8_lossy(&part[..length]));
        while let Some((question, answer)) = next
            && let Some(at) = shown[from..].find(question)
        {
            controller.write_all(answer.as_bytes()).unwrap();
            from += at + question.len();
            next = talk.next();
        }
    }
    assert!(next.is_none(), "{shown}");
    (shown, child.wait().unwrap().code())
}
