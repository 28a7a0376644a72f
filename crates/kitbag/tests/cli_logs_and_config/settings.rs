//! The effective configuration with its sources, and secrets, through the real binary.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::process::Stdio;

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::{Value, json};

use kitbag_testkit::home::{CONFIG, Home};

const SETTINGS: &str = r#"
[serve]
page_size = 50

[servers.git]
command = "git-mcp"
args = ["--token", "typed-s3cret"]
env = { TOKEN = "${TOKEN}", OTHER = "${secret:other}", PLAIN = "typed-s3cret" }

[servers.docs]
url = "https://ann:typed-s3cret@docs.example/mcp"
enabled = false
"#;

#[test]
fn the_effective_configuration_is_shown_with_its_sources() {
    let home = Home::new();
    home.write(CONFIG, SETTINGS);
    let show = |words: &[&str]| {
        let mut command = home.command(&[&["config", "show"], words].concat());
        let output = command
            .env("KITBAG_REQUIRE_KEY", "yes")
            .env("TOKEN", "s3cret")
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap()
    };
    let here = fs::canonicalize(home.path("")).unwrap();
    let shown = show(&["--bind", "127.0.0.1:9000"]).replace(here.to_str().unwrap(), "/home/ann");
    // The column of the comment depends on the length of this home's path.
    let (store, shown): (Vec<_>, Vec<_>) = shown
        .split("\n\n")
        .partition(|table| table.starts_with("[store]"));
    assert!(
        store[0].contains("path = \"/home/ann/.local/share/kitbag/kitbag.db\""),
        "{store:?}"
    );
    let shown = shown.join("\n\n");
    assert_eq!(
        shown,
        r#"# Configuration: /home/ann/.config/kitbag/kitbag.toml
# Data: /home/ann/.local/share/kitbag (default)

[serve]
bind = "127.0.0.1:9000"   # --bind
require_key = true        # KITBAG_REQUIRE_KEY
allowed_hosts = []        # default
allowed_origins = []      # default
max_body_bytes = 4194304  # default
page_size = 50            # kitbag.toml:3
access_log = false        # default

[servers.docs]
url = "https://ann:••••@docs.example/mcp"  # kitbag.toml:11
enabled = false                            # kitbag.toml:12

[servers.git]
command = "git-mcp"            # kitbag.toml:6
args = ["--token", "••••"]     # kitbag.toml:7
env.OTHER = "${secret:other}"  # kitbag.toml:8, secret:other not set
env.PLAIN = "••••"             # kitbag.toml:8
env.TOKEN = "${TOKEN}"         # kitbag.toml:8, TOKEN set
"#
    );
    let all = show(&["--all"]);
    let has = |key: &str, origin: &str| {
        all.lines()
            .any(|it| it.starts_with(key) && it.ends_with(origin))
    };
    assert!(
        has("# otlp_endpoint ", "# not set") && has("keep_days = 90 ", "# default"),
        "{all}"
    );
    assert!(!(all + &shown).contains("s3cret"));
    assert_eq!(
        show(&["servers.docs"])
            .lines()
            .filter(|line| line.ends_with("# default"))
            .count(),
        10
    );

    let rows: Value = serde_json::from_str(&show(&["serve", "--json"])).unwrap();
    let file =
        json!({ "from": "file", "line": 3, "path": here.join(".config/kitbag/kitbag.toml") });
    assert_eq!(
        rows[5],
        json!({ "key": "serve.page_size", "value": 50, "origin": file })
    );
    let variable = json!({ "from": "variable", "name": "KITBAG_REQUIRE_KEY" });
    assert_eq!(
        rows[1],
        json!({ "key": "serve.require_key", "value": true, "origin": variable })
    );

    let printed = home.fails(&["config", "show", "server"]);
    assert_eq!(
        printed,
        "error: the configuration has no `server`\n  try: did you mean `servers`?\n"
    );
}

#[test]
fn the_path_is_printed_and_the_file_checked() {
    let home = Home::new();
    let printed = home.run(&["config", "path"]);
    assert_eq!(printed.stdout.trim(), home.config().to_str().unwrap());
    assert!(
        printed.stderr.contains("defaults apply") && printed.stderr.contains("kitbag.toml"),
        "{}",
        printed.stderr
    );
    assert!(
        home.ok(&["config", "check"])
            .contains("default configuration is valid")
    );

    home.write(CONFIG, SETTINGS);
    let here = fs::canonicalize(home.config()).unwrap();
    assert_eq!(home.ok(&["config", "path"]).trim(), here.to_str().unwrap());
    let printed = home.run(&["config", "check"]);
    assert_eq!(
        (printed.code, printed.stdout),
        (
            Some(0),
            format!("{} is valid: 1 server, 0 providers\n", here.display())
        )
    );
    let warning = "warning: `servers.git.env.TOKEN`: the environment variable `TOKEN` is not set\n";
    assert!(printed.stderr.contains(warning), "{}", printed.stderr);

    home.write(CONFIG, "[serve]\nbnd = 1\n");
    let printed = home.fails(&["config", "check"]);
    assert!(
        printed.contains("line 2, in `serve`") && printed.contains("try: did you mean `bind`?"),
        "{printed}"
    );
}

#[test]
fn a_secret_typed_at_a_terminal_is_not_shown() {
    let home = Home::new();
    let (mut ours, theirs) = terminal();
    let mut child = home
        .command(&["secret", "set", "token"])
        .stdin(theirs)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stderr = child.stderr.take().unwrap();
    let mut asked = [0; "Value of token: ".len()];
    stderr.read_exact(&mut asked).unwrap();
    assert_eq!(&asked, b"Value of token: ");
    ours.write_all(b"s3cret\n").unwrap();
    assert!(child.wait().unwrap().success());
    // No process holds the other end, so reading ends, with or without an error.
    let mut shown = Vec::new();
    let _hung_up = ours.read_to_end(&mut shown);
    assert_eq!(String::from_utf8_lossy(&shown), "");
    assert_eq!(home.json(&["secret", "list"])[0]["name"], "token");
}

/// A terminal: the user's end and the program's end.
fn terminal() -> (File, File) {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap();
    let theirs = rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
    (ours.into(), theirs.into())
}

#[test]
fn the_encryption_key_is_stored_where_it_is_configured() {
    let home = Home::new();
    let place = || home.json(&["secret", "key"]);
    assert_eq!(place(), json!({ "place": "file", "exists": false }));
    let set = |key: Option<&str>| {
        let mut command = home.command(&["secret", "set", "token"]);
        command.envs(key.map(|key| ("KITBAG_SECRET_KEY", key)));
        let piped = || Stdio::piped();
        let mut child = command
            .stdin(piped())
            .stdout(piped())
            .stderr(piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(b"s3cret").unwrap();
        String::from_utf8(child.wait_with_output().unwrap().stderr).unwrap()
    };
    assert_eq!(set(None), "");
    assert_eq!(place(), json!({ "place": "file", "exists": true }));
    let printed = home.fails(&["secret", "key", "--move-to", "file"]);
    assert!(printed.contains("already stored there"), "{printed}");

    assert!(
        !home.config().exists() && place()["exists"] == true,
        "nothing has changed"
    );

    fs::create_dir_all(home.config().parent().unwrap()).unwrap();
    fs::write(home.config(), "[secrets]\nkey = 'env' # from the vault\n").unwrap();
    let printed = set(None);
    assert!(
        printed.contains("the variable KITBAG_SECRET_KEY cannot be used")
            && printed.contains("it is not set"),
        "{printed}"
    );
    home.json(&["servers", "list"]);
}
