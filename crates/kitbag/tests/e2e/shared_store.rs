//! Several gateways over one PostgreSQL database, and an unreachable database.

use std::sync::Arc;
use std::time::{Duration, Instant};

use kitbag_store::{AuditQuery, AuditRow, AuditRowContent, Store, StoreAddress};
use kitbag_testkit::postgres::OwnPostgres;
use serde_json::json;

use crate::harness::api::Api;
use crate::harness::guarded::{Deviations, Guarded};
use crate::harness::store::empty_schema;
use crate::harness::{Era, Gateway, Home, Remote, Testbed, until};
use crate::login;

/// Writes of one gateway take effect at the others within a second; a busy machine may take longer.
const SOON: Duration = Duration::from_secs(20);

/// The homes of two machines that share the database and the key of its secrets.
fn two_homes(config: &str) -> [Arc<Home>; 2] {
    let config = format!("[store]\nurl = \"{}\"\n{config}", empty_schema());
    [(), ()].map(|()| {
        let home = login::home(&config);
        home.export("KITBAG_SECRET_KEY", &"5e".repeat(32));
        home
    })
}

async fn status(gateway: &Gateway, path: &str, key: Option<&str>) -> u16 {
    let request = reqwest::Client::new().get(format!("{}{path}", gateway.base));
    let request = match key {
        Some(key) => request.bearer_auth(key),
        None => request,
    };
    request.send().await.unwrap().status().as_u16()
}

#[tokio::test]
async fn a_key_created_or_revoked_at_one_gateway_takes_effect_at_the_other_within_a_second() {
    let [here, there] = two_homes("[tenants.acme]\n");
    let gateway = there.serve().await;
    let key = here.key("acme").await;
    assert_eq!(status(&gateway, "/v1/tokens", Some(&key)).await, 200);
    let id = key.split('_').nth(1).unwrap();
    let printed = here.kitbag(&["key", "revoke", id]).await;
    let revoked = Instant::now();
    assert_eq!(printed.code, Some(0), "{printed:?}");
    until("the key is refused", async || {
        (status(&gateway, "/v1/tokens", Some(&key)).await == 401).then_some(())
    })
    .await;
    assert!(revoked.elapsed() < SOON, "{:?}", revoked.elapsed());
}

/// `kitbag secret set token`, with the value on stdin.
async fn set_secret(home: &Home, value: &str) {
    let mut command = home.command(&["secret", "set", "token"]);
    let file = home.path("value");
    std::fs::write(&file, value).unwrap();
    command.stdin(std::fs::File::open(file).unwrap());
    let output = tokio::task::spawn_blocking(move || command.output().unwrap());
    let output = output.await.unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[tokio::test]
async fn a_secret_set_on_one_machine_is_used_by_the_gateway_of_another_within_a_second() {
    let api = Api::start().await;
    let settings = "bearer = \"${secret:token}\"\nallow_private = true\n";
    let [here, there] = two_homes(&api.table("api", settings));
    set_secret(&here, "first").await;
    let gateway = there.serve().await;
    let client = gateway
        .client_at("/mcp/search", Era::Modern)
        .connect()
        .await;
    for value in ["first", "second", "third"] {
        set_secret(&here, value).await;
        let changed = Instant::now();
        until("the value is sent", async || {
            let wanted = json!({ "provider": "api", "method": "GET", "path": "/items" });
            client.call("call_api", &wanted).await;
            let seen = api.requests();
            let sent = seen.last()?.headers.get("authorization")?.to_str().ok()?;
            (sent == format!("Bearer {value}")).then_some(())
        })
        .await;
        assert!(changed.elapsed() < SOON, "{:?}", changed.elapsed());
    }
}

#[tokio::test]
async fn a_listing_that_one_machine_reads_is_shown_by_the_gateway_of_another_within_a_second() {
    let remote = Remote::http(&[]).await;
    let [here, there] = two_homes(&remote.table("bed", ""));
    let vacant = remote.end();
    let gateway = there.serve().await;
    let client = gateway.client(Era::Modern).await;
    until("the server was asked in vain", async || {
        gateway
            .log()
            .contains("all servers have been listed")
            .then_some(())
    })
    .await;
    assert_eq!(client.tool_names().await, [""; 0]);
    let _remote = vacant.start().await;
    let printed = here.kitbag(&["servers", "test", "bed"]).await;
    let listed = Instant::now();
    assert_eq!(printed.code, Some(0), "{printed:?}");
    until("its tools are listed", async || {
        let names = client.tool_names().await;
        names.contains(&"bed__echo".to_owned()).then_some(())
    })
    .await;
    assert!(listed.elapsed() < SOON, "{:?}", listed.elapsed());
}

#[tokio::test]
async fn a_login_on_one_machine_is_used_by_the_gateway_of_another_within_a_second() {
    let guarded = Guarded::start(Deviations::default()).await;
    let [here, there] = two_homes(&guarded.table("docs", ""));
    let gateway = there.serve().await;
    let client = gateway.client(Era::Modern).await;
    assert_eq!(client.tool_names().await, [""; 0]);
    login::log_in(&here, &[]).await;
    let logged_in = Instant::now();
    until("its tools are listed", async || {
        let names = client.tool_names().await;
        names.contains(&"docs__echo".to_owned()).then_some(())
    })
    .await;
    assert!(logged_in.elapsed() < SOON, "{:?}", logged_in.elapsed());
}

#[tokio::test]
async fn while_the_database_is_unreachable_calls_continue_and_their_rows_are_written_later() {
    let mut server = OwnPostgres::start().await;
    let url = format!("{}?connect_timeout=1&statement_timeout=2000", server.url());
    let bed = Testbed::new("bed").table();
    let home = Home::new(&format!("[store]\nurl = \"{url}\"\n[tenants.acme]\n{bed}"));
    let key = home.key("acme").await;
    let gateway = home.serve().await;
    let client = gateway.client_at("/mcp/all", Era::Modern).key(&key);
    let client = client.connect().await;
    client.knows("bed__echo").await;
    let call = async |message: &str| {
        let reply = client
            .call("bed__echo", &json!({ "message": message }))
            .await;
        assert!(reply.raw().contains(message), "{}", reply.raw());
    };
    call("before").await;
    server.stop();
    until("it says that it is not ready", async || {
        (status(&gateway, "/ready", None).await == 503).then_some(())
    })
    .await;
    for number in 0..20 {
        call(&format!("meanwhile {number}")).await;
    }
    let printed = home.kitbag(&["key", "list"]).await;
    assert!(
        printed.stderr.contains("cannot be used") && printed.code == Some(1),
        "{printed:?}"
    );
    server.start_again().await;
    until("it is ready again", async || {
        (status(&gateway, "/ready", None).await == 200).then_some(())
    })
    .await;
    call("after").await;
    let address = StoreAddress::parse(&url, &home.path("data")).unwrap();
    let store = Store::open(address).await.unwrap();
    until("every call is on record, once", async || {
        let rows = store
            .read_audit(&AuditQuery::newest(u32::MAX))
            .await
            .unwrap();
        (rows.iter().filter(|row| is_call(row)).count() == 22).then_some(())
    })
    .await;
}

fn is_call(row: &AuditRow) -> bool {
    matches!(row.content, AuditRowContent::Call { .. })
}
