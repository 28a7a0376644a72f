//! Programs that do not join: by choice, with another configuration, or for safety.

use std::fs::{self, Permissions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;

use serde_json::{Value, json};

use super::SharedHome;
use crate::harness::{Client, Era, until};

#[tokio::test]
async fn a_program_with_own_or_with_another_configuration_starts_its_own_servers() {
    let setup = SharedHome::new();
    let _gateway = setup.home.serve().await;
    setup.ok(&["call", "shared__echo"]).await;
    assert_eq!(setup.starts(), 1);
    fs::copy(
        setup.home.path("kitbag.toml"),
        setup.home.path("other.toml"),
    )
    .unwrap();
    for (number, words) in [
        ["call", "shared__echo", "--own"].as_slice(),
        &["call", "shared__echo", "--config", "other.toml"],
        &["call", "shared__echo", "--data-dir", "other-data"],
    ]
    .into_iter()
    .enumerate()
    {
        setup.ok(words).await;
        assert_eq!(setup.starts(), number + 2, "{words:?}");
    }
    for (number, flags) in [
        ["--own"].as_slice(),
        &["--bind", "127.0.0.1:0"],
        &["--require-key"],
    ]
    .into_iter()
    .enumerate()
    {
        let flags = [&["--surface", "all"], flags].concat();
        let client = Client::stdio_with(&setup.home, Era::Legacy, &flags)
            .connect()
            .await;
        client.call("shared__echo", &json!({})).await.text();
        assert_eq!(setup.starts(), number + 5, "{flags:?}");
    }
}

#[tokio::test]
async fn a_program_with_other_values_of_the_configurations_variables_starts_its_own_servers() {
    let setup = SharedHome::new();
    let token = "\nenv = { TOKEN = \"${TOKEN:-none}\" }\n";
    setup
        .home
        .configure(&format!("{}{token}", setup.server("shared").trim_end()));
    setup.introduce();
    let _gateway = setup.home.serve().await;
    setup.ok(&["call", "shared__echo"]).await;
    assert_eq!(setup.starts(), 1);
    setup.home.export("TOKEN", "another");
    let printed = setup
        .ok(&["call", "shared__echo", "--log", "kitbag=debug"])
        .await;
    assert!(
        printed.stderr.contains("different values for TOKEN"),
        "{}",
        printed.stderr
    );
    assert!(
        !printed.stderr.contains("another"),
        "its value is not shown: {}",
        printed.stderr
    );
    assert_eq!(setup.starts(), 2);
}

#[tokio::test]
async fn the_servers_of_a_trusted_project_are_not_shared_outside_of_it() {
    let setup = SharedHome::new();
    let project = setup.home.path("project");
    fs::create_dir(&project).unwrap();
    fs::write(project.join("kitbag.toml"), setup.server("local")).unwrap();
    let _gateway = setup.home.serve().await;
    setup.ok(&["call", "shared__echo"]).await;
    setup.ok_in(&project, &["call", "shared__echo"]).await;
    assert_eq!(
        setup.starts(),
        1,
        "a project that is not trusted changes nothing"
    );

    setup.ok_in(&project, &["trust", "--yes"]).await;
    setup.ok_in(&project, &["call", "local__echo"]).await;
    assert!(
        setup.starts() > 1,
        "it has servers that the gateway must not have"
    );
    let outside = setup.home.kitbag(&["call", "local__echo"]).await;
    assert!(
        outside
            .stderr
            .contains("there is no tool called `local__echo`"),
        "{}",
        outside.stderr
    );
}

#[tokio::test]
async fn the_socket_is_only_for_its_user() {
    let setup = SharedHome::new();
    let _gateway = setup.home.serve().await;
    let socket = setup.socket().unwrap();
    let mode = |path| fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!(
        (mode(socket.as_path()), mode(socket.parent().unwrap())),
        (0o600, 0o700)
    );
}

#[tokio::test]
async fn no_program_joins_or_serves_through_a_folder_that_others_can_access() {
    let setup = SharedHome::new();
    let gateway = setup.home.serve().await;
    setup.ok(&["call", "shared__echo"]).await;
    let folder = setup.home.path("data/run");
    fs::set_permissions(&folder, Permissions::from_mode(0o777)).unwrap();
    let printed = setup
        .ok(&["call", "shared__echo", "--log", "kitbag=debug"])
        .await;
    assert!(
        printed.stderr.contains("other users have access to"),
        "{}",
        printed.stderr
    );
    assert_eq!(setup.starts(), 2, "it worked on its own");
    assert!(gateway.stop().await.success());

    let gateway = setup.home.serve().await;
    let printed = "local clients cannot join: other users have access to";
    until("it says why", async || {
        gateway.log().contains(printed).then_some(())
    })
    .await;
    assert_eq!(setup.socket(), None);
    gateway
        .client(Era::Modern)
        .await
        .call("shared__echo", &json!({}))
        .await
        .text();
}

#[tokio::test]
async fn no_program_joins_through_a_folder_of_another_user() {
    // Only root can change a file's owner.
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let setup = SharedHome::new();
    let _gateway = setup.home.serve().await;
    setup.ok(&["call", "shared__echo"]).await;
    std::os::unix::fs::chown(setup.home.path("data/run"), Some(54_321), None).unwrap();
    let printed = setup
        .ok(&["call", "shared__echo", "--log", "kitbag=debug"])
        .await;
    assert!(
        printed.stderr.contains("belongs to uid 54321"),
        "{}",
        printed.stderr
    );
    assert_eq!(setup.starts(), 2);
}

#[tokio::test]
async fn another_user_is_rejected_even_on_a_socket_open_to_all() {
    // Only root can switch users.
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let setup = SharedHome::new();
    let gateway = setup.home.serve().await;
    let socket = setup.socket().unwrap();
    let hello = format!(
        "{}\n",
        json!({ "kitbag": env!("CARGO_PKG_VERSION"), "want": "ask", "project": null, "variables": {} })
    );
    let script = "import socket, sys\ns = socket.socket(socket.AF_UNIX)\ns.connect(sys.argv[1])\n\
                  try:\n    s.sendall(sys.argv[2].encode())\n    print(s.recv(1000).decode())\n\
                  except OSError:\n    pass\n";
    let connect = |user: u32| {
        let mut python = std::process::Command::new("python3");
        python
            .args(["-c", script])
            .arg(&socket)
            .arg(&hello)
            .uid(user);
        let output = python.output().unwrap();
        (
            output.status.success(),
            String::from_utf8(output.stdout).unwrap(),
        )
    };
    assert!(connect(0).1.contains("accepted"), "{:?}", connect(0));
    assert!(!connect(54_321).0, "it does not even reach the socket");

    for path in setup.home.path("data/run").ancestors().take(3) {
        fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
    }
    fs::set_permissions(&socket, Permissions::from_mode(0o666)).unwrap();
    assert_eq!(connect(54_321).1.trim(), "", "it is told nothing");
    let printed = "belongs to uid 54321, expected 0";
    until("it is told", async || {
        gateway.log().contains(printed).then_some(())
    })
    .await;
    assert!(
        connect(0).1.contains("accepted"),
        "the own user is served on"
    );
}

#[tokio::test]
async fn an_invalid_hello_is_rejected_and_affects_no_other_program() {
    let setup = SharedHome::new();
    let _gateway = setup.home.serve().await;
    let socket = setup.socket().unwrap();
    let say = |line: &str| {
        let mut stream = UnixStream::connect(&socket).unwrap();
        stream.write_all(line.as_bytes()).unwrap();
        let mut answer = String::new();
        BufReader::new(stream).read_line(&mut answer).unwrap();
        answer
    };
    let refused: Value =
        serde_json::from_str(&say("{\"kitbag\":\"99.0.0\",\"want\":\"ask\"}\n")).unwrap();
    let reason = refused["refused"]["reason"].as_str().unwrap();
    assert!(reason.contains("99.0.0"), "{reason}");
    for nonsense in [
        "\n",
        "GET / HTTP/1.1\r\n",
        "{\"kitbag\":1}\n",
        "[]\n",
        "\u{0}\u{1}\n",
    ] {
        assert_eq!(say(nonsense), "", "{nonsense:?}");
    }
    // A program that sends nothing blocks no other.
    let _silent = UnixStream::connect(&socket).unwrap();
    setup.ok(&["call", "shared__echo"]).await;
    assert_eq!(setup.starts(), 1);
}
