//! Importing servers from clients' files and adding Kitbag to them, through the real binary.

#![expect(clippy::unwrap_used, reason = "a test says so by failing")]

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};
use std::thread;

use kitbag_testkit::home::Home;
use kitbag_testkit::programs::{kitbag, testbed};
use serde_json::{Value, json};

const CURSOR: &str = ".cursor/mcp.json";
const CODEX: &str = ".codex/config.toml";
const VSCODE: &str = ".vscode/mcp.json";

/// A home with three clients that share one server and have another with different settings.
fn home() -> Home {
    let home = Home::new();
    let write = |path: &str, text: &str| home.write(path, text);
    write(
        CURSOR,
        r#"{
  // Mine.
  "mcpServers": {
    "time": { "command": "uvx", "args": ["mcp-server-time"] },
    "git hub": { "command": "npx", "args": ["-y", "gh-mcp"], "env": { "GITHUB_TOKEN": "ghp_s3cret0s3cret1s3cret" } },
    "docs": { "url": "https://docs.example/mcp?apiKey=s3cret2", "headers": { "X-Team": "${env:TEAM}" } },
    "wrong": { "url": "ws://docs.example/" },
  }
}
"#,
    );
    write(
        CODEX,
        "model = 'm' # fast\n\n[mcp_servers.clock]\ncommand = 'uvx'\nargs = ['mcp-server-time']\n\n[mcp_servers.docs]\nurl = \
         'https://other.example/mcp'\nbearer_token_env_var = 'DOCS_TOKEN'\nenabled = false\n",
    );
    write(
        VSCODE,
        r#"{ "servers": { "ask": { "command": "ask", "env": { "KEY": "${input:ask-key}" } } },
  "inputs": [{ "id": "ask-key", "type": "promptString", "description": "Key of Ask", "password": true }] }"#,
    );
    home
}

fn names(printed: &Value) -> Vec<String> {
    let rows = printed["servers"].as_array().unwrap();
    rows.iter()
        .map(|row| {
            format!(
                "{} {}",
                row["name"].as_str().unwrap(),
                row["action"].as_str().unwrap()
            )
        })
        .collect()
}

#[test]
fn servers_are_shown_first_then_imported_once_and_secrets_stay_out_of_files() {
    let home = home();
    let before = fs::read_to_string(home.path(CURSOR)).unwrap();

    let printed = home.run(&["import", "--dry-run"]);
    assert_eq!(printed.code, Some(0), "{}", printed.stderr);
    for part in [
        "time",
        "git-hub",
        "docs-codex",
        "Cursor, Codex",
        "docs-codex: called `docs` in Codex\n",
        "export TEAM=…",
        "kitbag secret set ask.ask-key   # Key of Ask",
    ] {
        assert!(printed.stdout.contains(part), "{part}: {}", printed.stdout);
    }
    assert!(
        !printed.stdout.contains("called `git hub`"),
        "{}",
        printed.stdout
    );
    assert!(
        printed.stdout.contains("Would add 5 servers"),
        "{}",
        printed.stdout
    );
    assert!(
        printed.stderr.contains("mcp.json, line 7: `wrong`"),
        "{}",
        printed.stderr
    );
    assert!(!home.config().exists() && !home.path(".local").exists());

    let all = [
        "time add",
        "git-hub add",
        "docs add",
        "docs-codex add",
        "ask add",
    ];
    let printed = home.json(&["import", "--yes"]);
    assert_eq!(
        (names(&printed), &printed["done"]),
        (all.map(str::to_owned).into(), &json!(true))
    );
    let text = fs::read_to_string(home.config()).unwrap();
    assert_eq!(
        text,
        "[servers.time]\ncommand = \"uvx\"\nargs = [\"mcp-server-time\"]\n\n\
         [servers.git-hub]\ncommand = \"npx\"\nargs = [\"-y\", \"gh-mcp\"]\nenv = { GITHUB_TOKEN = \"${secret:git-hub.GITHUB_TOKEN}\" }\n\n\
         [servers.docs]\nurl = \"https://docs.example/mcp?apiKey=${secret:docs.url}\"\nheaders = { X-Team = \"${TEAM}\" }\n\n\
         [servers.docs-codex]\nurl = \"https://other.example/mcp\"\nheaders = { Authorization = \"Bearer ${DOCS_TOKEN}\" }\nenabled = false\n\n\
         [servers.ask]\ncommand = \"ask\"\nenv = { KEY = \"${secret:ask.ask-key}\" }\n"
    );
    assert_eq!(
        fs::metadata(home.config()).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let secrets = home.json(&["secret", "list"]);
    let secrets: Vec<_> = secrets
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["name"].as_str().unwrap())
        .collect();
    assert_eq!(secrets, ["docs.url", "git-hub.GITHUB_TOKEN"]);
    let files = fs::read_dir(home.path(".local/share/kitbag"))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    for file in files.filter(|path| path.is_file()) {
        let bytes = fs::read(&file).unwrap();
        assert!(
            !bytes.windows(6).any(|window| window == b"s3cret"),
            "{}",
            file.display()
        );
    }

    let printed = home.json(&["import"]);
    assert_eq!(
        names(&printed),
        all.map(|name| name.replace(" add", " known"))
    );
    assert_eq!(
        (&printed["done"], fs::read_to_string(home.config()).unwrap()),
        (&json!(false), text)
    );
    assert_eq!(fs::read_to_string(home.path(CURSOR)).unwrap(), before);
}

#[test]
fn only_one_client_is_read_when_only_one_is_wanted() {
    let home = home();
    assert_eq!(
        names(&home.json(&["import", "--from", "codex", "--dry-run"])),
        ["clock add", "docs add"]
    );
    let printed = home.ok(&["import", "--from", "codex", "--dry-run"]);
    assert!(
        printed.ends_with("To add: kitbag import --from codex\n"),
        "{printed}"
    );
    assert_eq!(home.run(&["import", "--from", "emacs"]).code, Some(2));
    let empty = Home::new();
    let printed = empty.run(&["import"]);
    assert!(
        printed.code == Some(0) && printed.stderr.contains("No MCP servers found"),
        "{}",
        printed.stderr
    );
}

#[test]
fn kitbag_is_installed_into_clients_and_leaves_their_files_as_they_were() {
    for (client, path, project) in [
        ("cursor", CURSOR, false),
        ("codex", CODEX, false),
        ("vscode", VSCODE, true),
    ] {
        let home = home();
        let before = fs::read_to_string(home.path(path)).unwrap();
        let flags: &[&str] = if project {
            &["--client", client, "--project"]
        } else {
            &["--client", client]
        };
        let verb = |verb: &str| home.json(&[&[verb], flags].concat());

        let printed = verb("install");
        assert_eq!(
            (&printed["changed"], &printed["moved"]),
            (&json!(true), &json!([])),
            "{printed}"
        );
        let text = fs::read_to_string(home.path(path)).unwrap();
        assert!(
            text.contains("kitbag") && text.contains("--stdio"),
            "{text}"
        );
        assert_eq!(verb("install")["changed"], json!(false));

        let printed = home.json(&[&["install"], flags, &["--move-servers", "--yes"]].concat());
        assert!(
            !printed["moved"].as_array().unwrap().is_empty(),
            "{printed}"
        );
        assert_ne!(home.json(&["servers", "list"]), json!([]));

        assert_eq!(verb("uninstall")["state"], "restored");
        assert_eq!(fs::read_to_string(home.path(path)).unwrap(), before);
        let printed = home.fails(&[&["uninstall"], flags].concat());
        assert!(
            printed.contains("try: add it: kitbag install --client"),
            "{printed}"
        );
    }
}

#[test]
fn a_server_that_cannot_be_imported_stays_with_its_client() {
    let home = home();
    let printed = home.json(&["install", "--client", "cursor", "--move-servers"]);
    assert_eq!(printed["moved"], json!(["time", "git hub", "docs"]));
    let text = fs::read_to_string(home.path(CURSOR)).unwrap();
    let (used, aside) = text.split_once("mcpServersBehindKitbag").unwrap();
    assert!(
        used.contains("\"wrong\"")
            && !used.contains("\"git hub\"")
            && aside.contains("\"git hub\""),
        "{text}"
    );
    // A second import treats neither Kitbag nor the servers behind it as new servers.
    assert_eq!(
        names(&home.json(&["import", "--from", "cursor", "--dry-run"])),
        [""; 0]
    );

    let printed = home.ok(&["uninstall", "--client", "cursor"]);
    assert!(
        printed.contains("to its state before Kitbag") && printed.contains("Restart Cursor"),
        "{printed}"
    );
}

#[test]
fn moving_servers_reports_missing_values_and_servers_that_stay() {
    let home = home();
    let printed = home.run(&["install", "--client", "cursor", "--move-servers"]);
    assert!(
        printed
            .stdout
            .contains("\nRequired before all of them can start:\n  export TEAM=…\n"),
        "{}",
        printed.stdout
    );
    assert!(
        printed.stderr.contains("mcp.json, line 7: `wrong`"),
        "{}",
        printed.stderr
    );
    let again = home.ok(&["install", "--client", "cursor"]);
    assert!(
        again.contains("is already in") && !again.contains("Restart"),
        "{again}"
    );

    let odd = json!({ "mcpServers": { "odd": { "command": "x", "env": { "A=B": "c" } } } });
    fs::write(home.path(".claude.json"), odd.to_string()).unwrap();
    let printed = home.ok(&["install", "--client", "claude-code", "--move-servers"]);
    let stays = "Stays in Claude Code, because Kitbag cannot use it: odd (`A=B` is not a valid \
                 environment variable name)";
    assert!(
        printed.contains(stays) && !printed.contains("--move-servers"),
        "{printed}"
    );
}

#[test]
fn the_installed_command_is_a_gateway_that_answers() {
    let home = home();
    home.ok(&["install", "--client", "windsurf"]);
    let text = fs::read_to_string(home.path(".codeium/windsurf/mcp_config.json")).unwrap();
    let entry = serde_json::from_str::<Value>(&text).unwrap()["mcpServers"]["kitbag"].clone();
    let program = entry["command"].as_str().unwrap();
    let words: Vec<_> = entry["args"]
        .as_array()
        .unwrap()
        .iter()
        .map(|word| word.as_str().unwrap())
        .collect();
    let greeting = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" },
    } });
    let mut command = Command::new(program);
    command
        .args(words)
        .env_clear()
        .env("HOME", home.path(""))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    writeln!(stdin, "{greeting}").unwrap();
    let mut answer = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut answer)
        .unwrap();
    drop(stdin);
    child.wait().unwrap();
    assert!(answer.contains("\"kitbag\""), "{answer}");
}

#[test]
fn variables_in_a_command_and_an_address_are_filled_in_at_launch() {
    let home = Home::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let file = json!({ "mcpServers": {
        "bed": { "command": "${BED}", "args": ["--era", "legacy", "stdio"] },
        "web": { "type": "http", "url": format!("http://{}/mcp?apiKey=s3cret&t=${{T:-x}}", listener.local_addr().unwrap()) },
    } });
    fs::write(home.path(".claude.json"), file.to_string()).unwrap();
    home.ok(&["import"]);
    assert!(
        !fs::read_to_string(home.config())
            .unwrap()
            .contains("s3cret")
    );

    let printed = home
        .command(&["servers", "test", "bed"])
        .env("BED", testbed())
        .output()
        .unwrap();
    assert!(
        printed.status.success(),
        "{}",
        String::from_utf8_lossy(&printed.stdout)
    );
    let printed = home.run(&["servers", "test", "bed"]).stdout;
    assert!(
        printed.contains("the environment variable `BED` is not set"),
        "{printed}"
    );

    let asked = thread::spawn(move || {
        let (connection, _) = listener.accept().unwrap();
        let mut line = String::new();
        BufReader::new(connection).read_line(&mut line).unwrap();
        line
    });
    let printed = home.run(&["servers", "test", "web"]).stdout;
    assert!(
        asked.join().unwrap().contains("/mcp?apiKey=s3cret&t=x "),
        "{printed}"
    );
    assert!(!printed.contains("s3cret"), "{printed}");
}

#[test]
fn a_file_that_cannot_be_edited_is_unchanged() {
    let home = home();
    let broken = "{ \"mcpServers\": { ";
    fs::write(home.path(CURSOR), broken).unwrap();
    let printed = home.fails(&["install", "--client", "cursor"]);
    assert!(
        printed.contains("cannot be edited")
            && printed.contains("syntax error in line 1")
            && printed.contains("try:"),
        "{printed}"
    );
    assert_eq!(fs::read_to_string(home.path(CURSOR)).unwrap(), broken);
    let taken = r#"{ "mcpServers": { "kitbag": { "command": "rucksack", "args": ["serve"] } } }"#;
    fs::write(home.path(CURSOR), taken).unwrap();
    let printed = home.fails(&["install", "--client", "cursor"]);
    assert!(
        printed.contains("already has another server named `kitbag`") && printed.contains("try:"),
        "{printed}"
    );
    assert_eq!(fs::read_to_string(home.path(CURSOR)).unwrap(), taken);
    fs::write(home.path(CURSOR), b"\xff\xfe{\0}\0").unwrap();
    let printed = home.fails(&["install", "--client", "cursor"]);
    assert!(printed.contains("try: save the file as UTF-8"), "{printed}");
    let printed = home.fails(&["install", "--client", "claude-desktop", "--http"]);
    assert!(
        printed.contains("Claude Desktop can only launch programs"),
        "{printed}"
    );
    assert!(printed.contains("try: omit --http"), "{printed}");
    let printed = home.fails(&["install", "--client", "goose", "--project"]);
    assert!(
        printed.contains("Goose has no project configuration"),
        "{printed}"
    );
}

#[test]
fn help_teaches_by_example_and_fits_a_terminal() {
    let home = Home::new();
    for verb in ["import", "install", "uninstall"] {
        let help = home.ok(&[verb, "--help"]);
        assert!(help.contains("Examples:"), "{help}");
        assert!(
            help.lines().all(|line| line.chars().count() <= 80),
            "{help}"
        );
    }
    let table = self::home().ok(&["import", "--yes"]);
    assert!(
        table
            .lines()
            .take_while(|line| !line.is_empty())
            .all(|line| line.chars().count() <= 80),
        "{table}"
    );
}

#[test]
fn moving_reports_remaining_servers_and_readable_secrets() {
    let home = home();
    let server = json!({ "command": "x", "env": { "API_TOKEN": "s3cret-s3cret" } });
    let file = json!({
        "mcpServers": { "mine": server },
        "projects": { "/elsewhere": { "mcpServers": { "theirs": { "command": "y" } } } },
    });
    home.write(".claude.json", &file.to_string());
    home.write(
        ".mcp.json",
        &json!({ "mcpServers": { "ours": { "command": "z" } } }).to_string(),
    );
    let printed = home.ok(&["install", "--client", "claude-code", "--move-servers"]);
    for part in [
        "Not moved: 1 server (theirs) in ",
        ".claude.json, for /elsewhere\n",
        "Not moved: 1 server (ours) in ",
        ".mcp.json\n",
        "1 secret is encrypted in the store now, but still readable in ",
    ] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    assert!(!printed.contains("s3cret"), "{printed}");
}

#[test]
fn a_client_gets_the_invoked_path_and_the_configuration_path() {
    let home = Home::new();
    let link = home.path("bin/kitbag");
    fs::create_dir_all(home.path("bin")).unwrap();
    std::os::unix::fs::symlink(kitbag(), &link).unwrap();
    // A user's own client must not launch a project's servers.
    home.write("kitbag.toml", "[servers.evil]\ncommand = 'evil'\n");
    let entry = |command: &mut Command| {
        assert!(
            command
                .args(["install", "--client", "cursor"])
                .status()
                .unwrap()
                .success()
        );
        let text = fs::read_to_string(home.path(CURSOR)).unwrap();
        serde_json::from_str::<Value>(&text).unwrap()["mcpServers"]["kitbag"].clone()
    };
    let own = home.config().display().to_string();
    let (link, here) = (link.display().to_string(), home.path(""));
    for (name, path) in [
        (link.as_str(), ""),
        ("kitbag", here.join("bin").to_str().unwrap()),
    ] {
        let mut command = Command::new(&link);
        std::os::unix::process::CommandExt::arg0(&mut command, name);
        command
            .current_dir(&here)
            .env_clear()
            .env("HOME", &here)
            .env("PATH", path);
        let expected = json!({ "command": link, "args": ["serve", "--stdio", "--config", own] });
        assert_eq!(entry(&mut command), expected);
    }
    let mut command = home.command(&["--config", "other.toml", "--data-dir", "data"]);
    home.write("other.toml", "");
    let printed = entry(&mut command);
    let (other, data) = (here.join("other.toml"), here.join("data"));
    assert_eq!(
        printed["args"],
        json!(["serve", "--stdio", "--config", other, "--data-dir", data])
    );
}
