//! Secrets that a server writes into its definitions: no caller sees them, and none is stored.

use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::harness::{Era, Gateway, Home, Remote, Testbed, until};

const VARIABLE: &str = "s3cret-of-the-variable/1";
const STORED: &str = "s3cret-of-the-store-2";
const ARGUMENT: &str = "s3cret-of-the-argument-3";

/// Texts that must not appear anywhere: the secrets, and two encodings of them.
const FORMS: [&str; 5] = [
    VARIABLE,
    STORED,
    ARGUMENT,
    "s3cret-of-the-variable%2F1",
    "czNjcmV0LW9mLXRoZS1zdG9yZS",
];

fn definitions() -> Value {
    let everywhere = format!(
        "Sends {VARIABLE}, {STORED} and {ARGUMENT}, or s3cret-of-the-variable%2F1 and czNjcmV0LW9mLXRoZS1zdG9yZS0y"
    );
    let schema = json!({ "type": "object", "properties": { "id": {
        "type": "string", "description": everywhere, "default": STORED, "enum": [STORED, "a"],
    } } });
    json!({
        "instructions": everywhere,
        "tools": [
            {
                "name": "letter_send", "title": VARIABLE, "description": everywhere, "inputSchema": schema,
                "outputSchema": schema, "annotations": { "title": STORED, "readOnlyHint": true },
                "_meta": { "x.example/t": everywhere },
            },
            { "name": format!("tool_{STORED}"), "inputSchema": { "type": "object" } },
        ],
        "prompts": [{
            "name": "greet_person", "description": everywhere,
            "arguments": [{ "name": "city", "description": VARIABLE }],
        }],
    })
}

/// Searches all files in the gateway's folder.
fn files_with(home: &Home, secret: &str) -> String {
    let data = home.path("data");
    let found = Command::new("grep")
        .args(["-r", "-l", "-a", "-F", secret])
        .arg(data)
        .output();
    String::from_utf8(found.unwrap().stdout).unwrap()
}

fn keep_secret(home: &Home) {
    let mut command = home.command(&["secret", "set", "letters"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(STORED.as_bytes())
        .unwrap();
    assert!(child.wait().unwrap().success());
}

async fn start_gateway(config: &str) -> (Gateway, String) {
    let home = Home::new("");
    fs::create_dir_all(home.path("good")).unwrap();
    fs::write(home.path("good/edited.json"), definitions().to_string()).unwrap();
    home.export("LETTER_TOKEN", VARIABLE);
    keep_secret(&home);
    let good = Testbed::new("good")
        .manner("edited")
        .data_dir(&home.path("good"));
    let good = good.with(
        "env = { LETTER_TOKEN = '${LETTER_TOKEN}', PLAIN = '${secret:letters}', API_KEY = 's3cret-of-the-argument-3' }",
    );
    home.configure(&format!("{}{config}", good.table()));
    let key = home.key("acme").await;
    (home.serve().await, key)
}

/// Every path on which a caller reads definitions.
async fn read_all_definitions(gateway: &Gateway, key: &str) -> Vec<(String, String)> {
    let mut printed = Vec::new();
    let query = json!({ "query": "send a letter" });
    let code = "return [await search('send a letter'), await describe('good__letter_send')]";
    let calls = [
        ("tools/list", json!({})),
        ("prompts/list", json!({})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        (
            "tools/call",
            json!({ "name": "search_available_tools", "arguments": query }),
        ),
        (
            "tools/call",
            json!({ "name": "discover_apis", "arguments": { "tool": "good__letter_send" } }),
        ),
        (
            "tools/call",
            json!({ "name": "discover_apis", "arguments": { "provider": "good" } }),
        ),
        (
            "tools/call",
            json!({ "name": "discover_apis", "arguments": {} }),
        ),
        (
            "tools/call",
            json!({ "name": "run_code", "arguments": { "code": code } }),
        ),
        (
            "tools/call",
            json!({ "name": "run_intent", "arguments": { "intent": "send a letter" } }),
        ),
        (
            "tools/call",
            json!({ "name": "call_api", "arguments": { "tool": "good__letter_send", "arguments": { "id": 7 } } }),
        ),
    ];
    let paths = [
        "/mcp",
        "/mcp/all",
        "/mcp/adaptive",
        "/mcp/code",
        "/servers/good/mcp",
    ];
    for (path, era) in paths
        .into_iter()
        .flat_map(|path| Era::BOTH.map(|era| (path, era)))
    {
        for builder in [
            gateway.client_at(path, era),
            gateway.client_at(path, era).key(key),
        ] {
            let client = builder.connect().await;
            for (method, params) in &calls {
                let reply = client.request(method, params).await;
                printed.push((
                    format!("{path} {era:?} {method} {params}"),
                    reply.raw().to_owned(),
                ));
            }
        }
    }
    let discover = gateway
        .client_at("/servers/good/mcp", Era::Modern)
        .connect()
        .await;
    let hello = discover.request("server/discover", &json!({})).await;
    printed.push(("hello".to_owned(), hello.raw().to_owned()));
    for path in ["/v1/retrieve", "/v1/context"] {
        let asked =
            json!({ "intent": "send a letter", "words": "send a letter", "text": "send a letter" });
        let found = gateway.post(path, &[], asked.to_string()).await;
        printed.push((path.to_owned(), found.raw().to_owned()));
    }
    for words in [
        &["tools"][..],
        &["tools", "show", "good__letter_send"],
        &["tools", "show", "good__letter_send", "--json"],
        &["search", "send", "a", "letter"],
        &["search", "send", "a", "letter", "--explain"],
        &["servers", "show", "good", "--json"],
        &["prompts"],
        &["lock"],
        &["lock", "status", "--json"],
        &["logs", "good"],
        &["doctor", "--json"],
    ] {
        let said = gateway.home.kitbag(words).await;
        printed.push((words.join(" "), format!("{}{}", said.stdout, said.stderr)));
    }
    printed.push(("log".to_owned(), gateway.log()));
    printed
}

#[tokio::test]
async fn a_secret_in_a_definition_is_never_shown_and_not_stored() {
    let (gateway, key) = start_gateway("").await;
    let all = gateway.client(Era::Modern).await;
    all.knows("good__letter_send").await;
    until("the search finds it", async || {
        let found = gateway
            .home
            .kitbag(&["search", "send", "a", "letter"])
            .await;
        found.stdout.contains("good__letter_send").then_some(())
    })
    .await;
    let printed = read_all_definitions(&gateway, &key).await;
    for (way, text) in &printed {
        for form in FORMS {
            assert!(!text.contains(form), "{way} shows {form}: {text}");
        }
    }
    let shown = printed
        .iter()
        .filter(|(_, text)| text.contains("•••"))
        .count();
    assert!(
        shown > 10,
        "what is left of the definitions is shown: {shown}"
    );

    let home = gateway.home.clone();
    let backup = home.path("data/backup.db");
    let kept = home
        .kitbag(&["store", "backup", backup.to_str().unwrap()])
        .await;
    assert_eq!(kept.code, Some(0), "{kept:?}");
    gateway.stop().await;
    for form in FORMS {
        assert_eq!(files_with(&home, form), "", "{form}");
    }
}

#[tokio::test]
async fn the_secret_of_a_header_and_of_an_address_is_masked_too() {
    for era in ["legacy", "modern"] {
        let home = Home::new("");
        fs::create_dir_all(home.path("good")).unwrap();
        fs::write(home.path("good/edited.json"), definitions().to_string()).unwrap();
        let folder = home.path("good");
        let args = [
            "--era",
            era,
            "--manner",
            "edited",
            "--data-dir",
            folder.to_str().unwrap(),
        ];
        let remote = Remote::http(&args).await;
        let headers = format!(
            "headers = {{ Authorization = 'Bearer {VARIABLE}', X-Api-Key = '{ARGUMENT}' }}"
        );
        let table = remote.table("good", &headers);
        let table = table.replace("/mcp\"", &format!("/mcp?token={STORED}\""));
        home.configure(&table);
        let gateway = home.serve().await;
        let all = gateway.client_at("/mcp/all", Era::Modern).connect().await;
        all.knows("good__letter_send").await;
        let listed = json!(all.list("tools/list", "tools").await).to_string();
        for form in FORMS {
            assert!(!listed.contains(form), "{era} {form}: {listed}");
        }
    }
}
