//! A server that writes a secret into a locked definition: another secret is not drift.

use std::fs;

use serde_json::json;

use super::{client, publish, tool};
use crate::harness::{Home, Testbed};

const FIRST: &str = "first-s3cret-token";
const SECOND: &str = "second-s3cret-tok";

#[tokio::test]
async fn a_changed_secret_is_not_drift() {
    let home = Home::new("");
    let folder = home.path("good");
    fs::create_dir_all(&folder).unwrap();
    let server = Testbed::new("good").manner("edited").data_dir(&folder);
    let table = server.with("env = { API_TOKEN = '${API_TOKEN}' }").table();
    home.configure(&table);
    let told = |secret: &str| tool("note_read", &format!("Sends {secret} along."));

    home.export("API_TOKEN", FIRST);
    publish(&home, &[told(FIRST)], &[]);
    let locked = home.kitbag(&["lock"]).await;
    assert_eq!(locked.code, Some(0), "{locked:?}");
    home.export("API_TOKEN", SECOND);
    publish(&home, &[told(SECOND)], &[]);
    let status = home.kitbag(&["lock", "status"]).await;
    assert_eq!(status.code, Some(0), "{status:?}");

    // Any other change is drift, and the difference shows no secret.
    publish(
        &home,
        &[tool("note_read", &format!("Sends {SECOND} away."))],
        &[],
    );
    let diff = home.kitbag(&["lock", "diff"]).await;
    let shown = "\
good__note_read (tool): changed
  description:
    - Sends ••• along.
    + Sends ••• away.
";
    assert_eq!(diff.stdout, shown);
}

#[tokio::test]
async fn an_approval_from_before_secrets_were_masked_still_holds() {
    let home = Home::new("");
    let folder = home.path("good");
    fs::create_dir_all(&folder).unwrap();
    let server = Testbed::new("good").manner("edited").data_dir(&folder);
    // Locked without known secrets, as in earlier versions.
    home.configure(&server.clone().table());
    let told = tool("note_read", &format!("Sends {FIRST} along."));
    publish(&home, &[told], &[]);
    assert_eq!(home.kitbag(&["lock"]).await.code, Some(0));
    let table = server.with("env = { API_TOKEN = '${API_TOKEN}' }").table();
    home.configure(&table);
    home.export("API_TOKEN", FIRST);
    let stored = async || {
        let backup = home.path("backup.db");
        let _ = fs::remove_file(&backup);
        let saved = home
            .kitbag(&["store", "backup", backup.to_str().unwrap()])
            .await;
        assert_eq!(saved.code, Some(0), "{saved:?}");
        String::from_utf8_lossy(&fs::read(&backup).unwrap()).into_owned()
    };
    assert!(stored().await.contains(FIRST));
    let status = home.kitbag(&["lock", "status"]).await;
    assert_eq!(status.code, Some(0), "{status:?}");
    let masked = stored().await;
    assert!(masked.contains("Sends ••• along.") && !masked.contains(FIRST));

    let gateway = home.serve().await;
    let all = client(&gateway, "/mcp/all").await;
    all.knows("good__note_read").await;
    let called = all.call("good__note_read", &json!({ "id": "n7" })).await;
    assert!(called.raw().contains("n7"), "{}", called.raw());
    drop(all);
    gateway.stop().await;
    // The listings come from the store now.
    let gateway = home.serve().await;
    let alone = client(&gateway, "/servers/good/mcp").await;
    let listed = json!(alone.list("tools/list", "tools").await).to_string();
    assert!(
        listed.contains("note_read") && !listed.contains(FIRST),
        "{listed}"
    );
    let all = client(&gateway, "/mcp/all").await;
    all.knows("good__note_read").await;
}
