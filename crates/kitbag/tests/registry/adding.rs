//! `kitbag servers add` with a registry name: the entry becomes a server.

use std::fs;
use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::{RegistryHome, WEATHER};

#[tokio::test(flavor = "multi_thread")]
async fn an_entry_becomes_a_server_that_runs_and_its_secret_stays_out_of_the_file() {
    let home = RegistryHome::new().await;
    home.runner("npx");
    let printed = home.ok(&[
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
        printed.stdout.contains("Added `weather`") && printed.stdout.contains("It works"),
        "{}",
        printed.stdout
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
        assert!(printed.stderr.contains(part), "{part}: {}", printed.stderr);
    }
    assert_eq!(
        home.config(),
        "[servers.weather]\ncommand = \"npx\"\nargs = [\"-y\", \"@acme/weather@1.1.0\", \"stdio\"]\n\
         env = { WEATHER_API_KEY = \"${secret:weather.WEATHER_API_KEY}\", WEATHER_UNITS = \"imperial\" }\n"
    );
    let noted = home.recorded();
    assert!(
        noted.contains("bin/npx -y @acme/weather@1.1.0 stdio\n"),
        "{noted}"
    );
    assert!(
        noted.contains("\nWEATHER_API_KEY=s3cret\nWEATHER_UNITS=imperial\n"),
        "{noted}"
    );
    assert!(
        home.ok(&["call", "weather__echo", "message=hi"])
            .stdout
            .contains("hi")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_values_are_named_with_the_command_that_sets_them() {
    let home = RegistryHome::new().await;
    let printed = home.fails(&[
        "servers",
        "add",
        "io.github.acme/ledger",
        "--set",
        "--host=db",
    ]);
    let (_, error) = printed.split_once("error: ").unwrap();
    assert_eq!(
        error,
        "`io.github.acme/ledger` needs 2 values\n  why: source       The folder of the books (a path)\n       \
         DB_PASSWORD  Of the database (a secret)\n  try: kitbag servers add io.github.acme/ledger --set --host=… \
         --set source=… --set DB_PASSWORD=…\n"
    );
    // The author's variable name is no reason to pass on a variable of that name.
    let output = home
        .command(&["servers", "add", WEATHER])
        .env("WEATHER_API_KEY", "s3cret")
        .output()
        .unwrap();
    let printed = String::from_utf8(output.stderr).unwrap();
    assert!(
        printed.contains("--set WEATHER_API_KEY=…")
            && !printed.contains("${")
            && !printed.contains("s3cret"),
        "{printed}"
    );
    assert_eq!(home.config(), "");

    let printed = home.fails(&["servers", "add", WEATHER, "--set", "WEATHER_API=x"]);
    assert!(
        printed.contains("try: did you mean `WEATHER_API_KEY`?"),
        "{printed}"
    );
    let printed = home.fails(&["servers", "add", WEATHER, "--set", "WEATHER_UNITS=kelvin"]);
    assert!(
        printed.contains("error: `WEATHER_UNITS` must be one of metric, imperial"),
        "{printed}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hosted_server_is_written_down_with_its_headers() {
    let home = RegistryHome::new().await;
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
    let printed = home.ok(&[
        add.as_slice(),
        &["--set", "tenant=t1", "--set", "region=us", "--json"],
    ]
    .concat());
    let added: Value = serde_json::from_str(&printed.stdout).unwrap();
    assert_eq!(
        added["origin"],
        json!({
            "name": "com.acme/mcp", "version": "2.0.0", "kind": "remote",
            "package": "https://{region}.acme.example/{tenant}/mcp",
        })
    );
    assert_eq!(
        home.config(),
        "[servers.acme]\nurl = \"https://us.acme.example/t1/mcp\"\n\
         headers = { Authorization = \"Bearer ${secret:acme.token}\", X-Pin = \"${PIN}\" }\nenabled = false\n"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn name_form_and_version_can_be_chosen() {
    let home = RegistryHome::new().await;
    home.runner("docker");
    let everywhere = [
        "servers",
        "add",
        "io.github.acme/everywhere",
        "--no-test",
        "--yes",
    ];
    home.ok(&everywhere);
    home.ok(&[
        everywhere.as_slice(),
        &["--as", "boxed", "--package", "oci"],
    ]
    .concat());
    home.ok(&[
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
    home.ok(&[
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
    let here = fs::canonicalize(home.path("")).unwrap();
    assert_eq!(
        home.config(),
        format!(
            "[servers.everywhere]\nurl = \"https://everywhere.example/mcp\"\n\n[servers.boxed]\ncommand = \"docker\"\n\
             args = [\"run\", \"-i\", \"--rm\", \"docker.io/acme/everywhere:1.0.0\"]\n\n[servers.old]\n\
             command = \"npx\"\nargs = [\"-y\", \"@acme/weather@1.0.0\"]\n\n[servers.notes]\ncommand = \"uvx\"\n\
             args = [\"--python\", \"3.12\", \"acme-notes==0.5.0\", \"serve\", \"--stdio\", \"--mode\", \"words\", \
             \"--read-only\", \"{}\", \"{}/b\"]\n",
            home.path("a").display(),
            here.display()
        )
    );
    let before = home.config();
    let printed = home.fails(&everywhere);
    assert!(
        printed.contains("server `everywhere` already exists") && printed.contains("--force"),
        "{printed}"
    );
    assert_eq!(home.config(), before);
    home.ok(&[everywhere.as_slice(), &["--force", "--package", "oci"]].concat());
    assert!(
        home.config()
            .starts_with("[servers.everywhere]\ncommand = \"docker\"")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn entries_that_cannot_or_should_not_be_added_are_reported() {
    let home = RegistryHome::new().await;
    let printed = home.fails(&["servers", "add", "io.github.gone/weather"]);
    assert!(
        printed.contains("was deleted") && printed.contains("kitbag servers find weather"),
        "{printed}"
    );
    let printed = home
        .ok(&[
            "servers",
            "add",
            "io.github.older/weather",
            "--no-test",
            "-y",
        ])
        .stderr;
    assert!(
        printed.contains("is deprecated by its author: Use io.github.acme/weather"),
        "{printed}"
    );
    let printed = home.fails(&["servers", "add", "io.github.acme/bundle"]);
    assert!(
        printed.contains("on this machine\n  why: it is a bundle (MCPB)"),
        "{printed}"
    );
    let printed = home.fails(&["servers", "add", "com.else/ledger"]);
    assert!(
        printed.contains(
            "try: did you mean one of these?\n       kitbag servers add io.github.acme/ledger"
        ),
        "{printed}"
    );
    let printed = home.fails(&["servers", "add", WEATHER, "--", "npx"]);
    assert!(printed.contains("choose a name without `/`"), "{printed}");
    let printed = home.fails(&["servers", "add", WEATHER, "--env", "A=1"]);
    assert!(printed.contains("--set KEY=VALUE"), "{printed}");
    let printed = home.fails(&["servers", "add", "time", "--set", "A=1", "--", "npx"]);
    assert!(
        printed.contains("--set is only for servers from the registry"),
        "{printed}"
    );

    let printed = home.run(&["servers", "add", "time"]);
    assert_eq!(printed.code, Some(2));
    for part in [
        "servers add time -- COMMAND",
        "servers add time URL",
        "add OWNER/NAME",
        "servers find time\n",
    ] {
        assert!(printed.stderr.contains(part), "{part}: {}", printed.stderr);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_in_an_entry_reads_a_variable_or_a_secret_of_ours() {
    let home = RegistryHome::new().await;
    home.runner("npx");
    let mut keep = home
        .command(&["secret", "set", "github.TOKEN"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    keep.stdin.take().unwrap().write_all(b"s3cret").unwrap();
    assert!(keep.wait().unwrap().success());
    let printed = home.ok(&["servers", "add", "io.github.mallory/helper", "--yes"]);
    assert!(printed.stdout.contains("It works"), "{}", printed.stdout);
    assert!(
        printed.stderr.contains("LOOT='${secret:github.TOKEN}'")
            && !printed.stderr.contains('\u{1b}'),
        "{}",
        printed.stderr
    );
    let noted = home.recorded();
    assert!(noted.contains("npx -y helper@1.0.0 ${HOME}\n"), "{noted}");
    for line in [
        "LOOT=${secret:github.TOKEN}",
        "PARTS=${secret:github.TOKEN}",
        "GUESS=${HOME}",
    ] {
        assert!(noted.lines().any(|it| it == line), "{line}: {noted}");
    }
}
