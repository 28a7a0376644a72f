//! Commands of a login, and where the browser ends up.

use serde_json::{Value, json};

use super::{Running, browse, home, log_in, login};
use crate::harness::guarded::{Deviations, Guarded};
use crate::harness::{Era, Home};

#[tokio::test]
async fn a_server_that_asks_for_a_login_works_after_one_command() {
    for guarded in [
        Guarded::start(Deviations::default()).await,
        Guarded::sse(Deviations::default()).await,
    ] {
        let home = home(&guarded.table("docs", ""));
        let output = home.kitbag(&["servers", "test", "docs"]).await;
        assert!(
            output.stdout.contains("`docs` requires a login"),
            "{output:?}"
        );
        assert!(
            output.stdout.contains("run `kitbag servers login docs`"),
            "{output:?}"
        );

        let output = login(&home, &[]).await;
        assert_eq!(output.code, Some(0), "{}", output.stderr);
        let expected = format!(
            "Logged in to docs through {}\nPermissions: read\nTo test it: kitbag servers test docs\n",
            guarded.base
        );
        assert_eq!(output.stdout, expected);
        let output = home.kitbag(&["call", "docs__echo", "message=hello"]).await;
        assert!(output.stdout.contains("hello"), "{output:?}");
        assert_eq!(guarded.count("register \"Kitbag\" \"native\""), 1);
        nothing_is_readable(&home, &guarded);
    }
}

/// Checks that no token is in the user's files or in the output.
#[track_caller]
fn nothing_is_readable(home: &Home, guarded: &Guarded) {
    let secrets = guarded.secrets();
    assert!(!secrets.is_empty());
    let mut folders = vec![home.path("")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
                continue;
            }
            let bytes = std::fs::read(entry.path()).unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes);
            for secret in &secrets {
                assert!(
                    !text.contains(secret),
                    "{secret} in {}",
                    entry.path().display()
                );
            }
        }
    }
}

#[tokio::test]
async fn the_list_of_servers_shows_where_the_user_is_logged_in() {
    let guarded = Guarded::start(Deviations::default()).await;
    let home = home(&guarded.table("docs", "oauth = { scopes = ['read'] }"));
    let check = async |login: &str, output: &str| {
        let rows = home.kitbag(&["servers", "list", "--json"]).await.stdout;
        let rows: Value = serde_json::from_str(&rows).unwrap();
        assert_eq!(rows[0]["login"], login, "{rows}");
        let table = home.kitbag(&["servers", "list"]).await.stdout;
        assert!(table.contains(output), "{table}");
    };
    check("needed", "login needed").await;
    log_in(&home, &[]).await;
    check("logged_in", "not listed yet (logged in)").await;
    home.kitbag(&["servers", "test"]).await;
    check("logged_in", "tools").await;
    home.kitbag(&["servers", "logout", "docs"]).await;
    check("needed", "login needed").await;
    assert_eq!(guarded.count("register"), 1);
}

#[tokio::test]
async fn a_second_login_comes_back_to_the_same_place_and_needs_no_second_registration() {
    let guarded = Guarded::start(Deviations::default()).await;
    let home = home(&guarded.table("docs", ""));
    log_in(&home, &[]).await;
    log_in(&home, &["--scope", "write"]).await;
    assert_eq!(guarded.count("register"), 1);
    assert_eq!(
        guarded.count("authorize registered for read write"),
        1,
        "{:?}",
        guarded.log()
    );
}

#[tokio::test]
async fn without_a_browser_here_the_address_is_pasted_or_a_code_typed_in_elsewhere() {
    let guarded = Guarded::start(Deviations::default()).await;
    let home = home(&guarded.table("docs", ""));
    let running = Running::start(&home, &["servers", "login", "docs", "--headless", "--json"]);
    let address = running.shows().await;
    let browser = reqwest::Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .unwrap();
    let page = browser.get(address).send().await.unwrap();
    running.type_in(page.headers()["location"].to_str().unwrap());
    let output = running.outcome().await;
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let row: Value = serde_json::from_str(&output.stdout).unwrap();
    let expected = json!({ "name": "docs", "issuer": guarded.base, "client_id": "registered", "scopes": "read" });
    assert_eq!(row, expected);

    let guarded = Guarded::start(Deviations {
        has_devices: true,
        ..Deviations::default()
    })
    .await;
    home.configure(&guarded.table("docs", ""));
    let running = Running::start(&home, &["servers", "login", "docs", "--headless"]);
    assert_eq!(browse(&running.shows().await).await, "thank you");
    let output = running.outcome().await;
    assert!(output.stderr.contains("KIT-BAG"), "{}", output.stderr);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert_eq!(guarded.count("authorize"), 0);
}

#[tokio::test]
async fn a_client_of_the_configuration_comes_first_then_a_document_then_registration() {
    let knows = Some(("kitbag-at-work", "s3cret"));
    let guarded = Guarded::start(Deviations {
        knows,
        reads_documents: true,
        ..Deviations::default()
    })
    .await;
    let document = "client_metadata_url = 'https://kitbag.example/client.json'";
    let client = "client_id = 'kitbag-at-work'\nclient_secret = '${CLIENT_SECRET}'";
    let home = home(&guarded.table(
        "docs",
        &format!("[servers.docs.oauth]\n{document}\n{client}"),
    ));
    home.export("CLIENT_SECRET", "s3cret");
    log_in(&home, &[]).await;
    assert_eq!(
        guarded.count("authorize kitbag-at-work"),
        1,
        "{:?}",
        guarded.log()
    );

    let guarded = Guarded::start(Deviations {
        reads_documents: true,
        ..Deviations::default()
    })
    .await;
    home.configure(&guarded.table("docs", &format!("[servers.docs.oauth]\n{document}")));
    log_in(&home, &[]).await;
    assert_eq!(
        guarded.count("authorize https://kitbag.example/client.json"),
        1,
        "{:?}",
        guarded.log()
    );
    assert_eq!(guarded.count("register"), 0);

    let guarded = Guarded::start(Deviations::default()).await;
    home.configure(&guarded.table("docs", &format!("[servers.docs.oauth]\n{document}")));
    log_in(&home, &[]).await;
    assert_eq!(
        guarded.count("authorize registered"),
        1,
        "{:?}",
        guarded.log()
    );
}

#[tokio::test]
async fn without_a_user_the_gateway_logs_in_by_itself() {
    let knows = Some(("robot", "s3cret"));
    let guarded = Guarded::start(Deviations {
        knows,
        ..Deviations::default()
    })
    .await;
    let settings = "[servers.docs.oauth]\nflow = 'client_credentials'\nclient_id = 'robot'\nclient_secret = 's3cret'";
    let home = home(&guarded.table("docs", settings));
    let gateway = home.serve().await;
    let client = gateway.client(Era::Modern).await;
    client.knows("docs__echo").await;
    guarded.expire();
    let hello = json!({ "message": "hello" });
    let calls = (0..10).map(|_| client.call("docs__echo", &hello));
    for reply in futures::future::join_all(calls).await {
        assert!(reply.text().contains("hello"));
    }
    assert_eq!(
        guarded.count("token client_credentials"),
        2,
        "{:?}",
        guarded.log()
    );
}

#[tokio::test]
async fn logging_out_ends_the_login_here_and_there() {
    let guarded = Guarded::start(Deviations::default()).await;
    let home = home(&guarded.table("docs", ""));
    log_in(&home, &[]).await;
    let output = home.kitbag(&["servers", "logout", "docs"]).await;
    assert_eq!(output.stdout, "Logged out of docs\n", "{output:?}");
    assert_eq!(guarded.count("revoke true"), 1, "{:?}", guarded.log());
    let output = home.kitbag(&["servers", "logout", "docs"]).await;
    assert_eq!(output.stdout, "Not logged in to docs\n");
    let output = home.kitbag(&["servers", "test", "docs"]).await;
    assert!(
        output.stdout.contains("run `kitbag servers login docs`"),
        "{output:?}"
    );
}
