//! Actions against Moto, an independent imitation of Amazon's services. It computes each signature
//! with Amazon's own library and rejects a request with another signature.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderName, Method};
use kitbag_apis::{
    ActionAnswer, ApiOverrides, Clock, Credential, CredentialOwner, DeclaredApi, GuardedClient,
    RotatedRefreshToken, TokenCache,
};
use kitbag_tool_spec::{
    ActionSpec, ActionWrites, AnswerRule, AnswerType, ApiSpec, AuthScheme, BodyPattern,
    JsonPattern, StorageSpec, TextPattern,
};
use serde_json::{Map, Value, json};
use url::Url;

#[tokio::test]
#[ignore = "needs cargo xtask setup"]
async fn amazons_services_accept_signed_actions_and_reject_others() {
    let moto = Moto::start();
    let user = moto.user().await;

    let verify = action("/v2/email/identities", &json!({ "EmailIdentity": "{who}" }));
    let who = json!({ "who": "ann@desk.example" });
    let answer = moto.call("ses", &verify, &who, &user).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let answer = moto.call("ses", &mail(), &message(), &user).await;
    assert!(json_of(&answer)["MessageId"].is_string(), "{answer:?}");

    let answer = moto
        .call(
            "textract",
            &detection(),
            &json!({ "document": "aGVsbG8=" }),
            &user,
        )
        .await;
    assert!(json_of(&answer)["Blocks"].is_array(), "{answer:?}");

    let model = json!({ "model": "amazon.nova-canvas-v1:0", "prompt": "a kite, é" });
    let answer = moto.call("bedrock", &invocation(), &model, &user).await;
    assert_eq!(answer.status, 200, "{answer:?}");

    images_are_stored(&moto, &user).await;

    let stranger = AwsUser {
        secret: "another-secret-key".to_owned(),
        ..user
    };
    let answer = moto.call("ses", &mail(), &message(), &stranger).await;
    assert!(answer.is_error, "{answer:?}");
    let words = answer.tool_result().to_string();
    assert!(words.contains("SignatureDoesNotMatch"), "{words}");
}

/// An image that an action reads from one folder of the storage is put into another.
async fn images_are_stored(moto: &Moto, user: &AwsUser) {
    let bucket = ActionSpec {
        method: Method::PUT,
        body: None,
        ..action("/pictures", &json!({}))
    };
    let answer = moto.call("s3", &bucket, &json!({}), user).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let original = ActionSpec {
        method: Method::PUT,
        body: Some(BodyPattern::Bytes("{bytes}".parse().unwrap())),
        ..action("/pictures/original", &json!({}))
    };
    let kite = json!({ "bytes": "a2l0ZQ==" });
    let answer = moto.call("s3", &original, &kite, user).await;
    assert_eq!(answer.status, 200, "{answer:?}");

    let mut again = ActionSpec {
        method: Method::GET,
        body: None,
        ..action("/pictures/original", &json!({}))
    };
    again.answer.kind = AnswerType::Image;
    let stored = moto.call_storing(&again, &json!({}), user).await;
    let stored = json_of(&stored);
    assert_eq!(
        (&stored["type"], &stored["bytes"]),
        (&json!("image/png"), &json!(4))
    );
    let url = stored["url"].as_str().unwrap();
    let folder = moto.url.join("pictures/made/").unwrap();
    assert!(
        url.starts_with(folder.as_str()) && url.ends_with(".png"),
        "{stored}"
    );
    let unsigned = reqwest::get(url).await.unwrap();
    assert_eq!(unsigned.status(), 403, "the address alone opens nothing");
    let mut look = again.clone();
    look.path = url[moto.url.as_str().len() - 1..].parse().unwrap();
    look.answer.kind = AnswerType::Text;
    let found = moto.call("s3", &look, &json!({}), user).await;
    let found = found.tool_result().to_string();
    assert!(found.contains("kite"), "{found}");

    let inline = moto
        .call_storing(&again, &json!({ "inline": true }), user)
        .await;
    let shown = inline.tool_result().to_string();
    assert!(
        shown.contains("a2l0ZQ==") && !shown.contains("download"),
        "{shown}"
    );
}

/// A message in the format of SES, with only the given parts.
fn mail() -> ActionSpec {
    let content = json!({ "Simple": {
        "Subject": { "Data": "{subject}" },
        "Body": { "Text": { "Data": "{text}" }, "Html": { "Data": "{html}" } },
    } });
    let body = json!({
        "FromEmailAddress": "{from}",
        "Destination": { "ToAddresses": "{to}", "CcAddresses": "{cc}" },
        "Content": content,
    });
    ActionSpec {
        writes: ActionWrites::Send,
        ..action("/v2/email/outbound-emails", &body)
    }
}

fn message() -> Value {
    json!({
        "from": "ann@desk.example",
        "to": ["bob@desk.example"],
        "subject": "The printer",
        "text": "It is broken, é.",
    })
}

fn detection() -> ActionSpec {
    ActionSpec {
        headers: vec![
            header("content-type", "application/x-amz-json-1.1"),
            header("x-amz-target", "Textract.DetectDocumentText"),
        ],
        ..action("/", &json!({ "Document": { "Bytes": "{document}" } }))
    }
}

/// The model's name has a colon in it, which is encoded in the path and once more in the signature.
fn invocation() -> ActionSpec {
    let body = json!({ "taskType": "TEXT_IMAGE", "textToImageParams": { "text": "{prompt}" } });
    action("/model/{model}/invoke", &body)
}

fn header(name: &'static str, value: &str) -> (HeaderName, TextPattern) {
    (HeaderName::from_static(name), value.parse().unwrap())
}

fn action(path: &str, body: &Value) -> ActionSpec {
    ActionSpec {
        name: "act".parse().unwrap(),
        writes: ActionWrites::Write,
        repeatable: false,
        method: Method::POST,
        path: path.parse().unwrap(),
        query: Vec::new(),
        headers: Vec::new(),
        body: Some(BodyPattern::Json(JsonPattern::from_value(body).unwrap())),
        defaults: Map::new(),
        pages: None,
        answer: AnswerRule::default(),
    }
}

/// A request of the older services, whose answers are XML.
fn administration() -> ActionSpec {
    let mut action = action("/", &json!({}));
    let all = JsonPattern::from_value(&json!({ "Version": "2010-05-08", "...": "{*}" })).unwrap();
    action.body = Some(BodyPattern::Form(all));
    action.answer.kind = AnswerType::Text;
    action
}

struct AwsUser {
    key: String,
    secret: String,
}

/// The running server, which is stopped with the test.
struct Moto {
    process: Child,
    url: Url,
}

impl Moto {
    /// The first three requests, which create a user, are not checked.
    fn start() -> Self {
        let mut process = Command::new(tools().join("python/moto/bin/moto_server"))
            .args(["-H", "127.0.0.1", "-p", "0"])
            .env("INITIAL_NO_AUTH_ACTION_COUNT", "3")
            .stderr(Stdio::piped())
            .spawn()
            .expect("Moto is installed by `cargo xtask setup`");
        let lines = BufReader::new(process.stderr.take().unwrap()).lines();
        let mut urls = lines.filter_map(|line| {
            let line = line.unwrap();
            line.split_once("Running on ")
                .map(|(_, url)| url.parse().unwrap())
        });
        let url = urls.next().expect("it says where it runs");
        // It writes a line for each request, which must be read.
        std::thread::spawn(move || urls.for_each(drop));
        Self { process, url }
    }

    async fn user(&self) -> AwsUser {
        let everything = json!({ "Version": "2012-10-17", "Statement": [{ "Effect": "Allow", "Action": "*", "Resource": "*" }] });
        let unknown = AwsUser {
            key: "unknown".to_owned(),
            secret: "nothing".to_owned(),
        };
        let mut given = String::new();
        for arguments in [
            json!({ "Action": "CreateUser", "UserName": "ann" }),
            json!({
                "Action": "PutUserPolicy", "UserName": "ann", "PolicyName": "all",
                "PolicyDocument": everything.to_string(),
            }),
            json!({ "Action": "CreateAccessKey", "UserName": "ann" }),
        ] {
            let answer = self
                .call("iam", &administration(), &arguments, &unknown)
                .await;
            assert_eq!(answer.status, 200, "{answer:?}");
            let result: Value = serde_json::from_str(answer.tool_result().get()).unwrap();
            given = result["content"][0]["text"].as_str().unwrap().to_owned();
        }
        AwsUser {
            key: between(&given, "<AccessKeyId>", "<"),
            secret: between(&given, "<SecretAccessKey>", "<"),
        }
    }

    async fn call(
        &self,
        service: &str,
        action: &ActionSpec,
        arguments: &Value,
        user: &AwsUser,
    ) -> ActionAnswer {
        self.call_declared(declaration(service), action, arguments, user)
            .await
    }

    /// The images of the answer go into a folder of the bucket.
    async fn call_storing(
        &self,
        action: &ActionSpec,
        arguments: &Value,
        user: &AwsUser,
    ) -> ActionAnswer {
        let plain = declaration("s3");
        let storage = StorageSpec {
            url: "https://s3.{credential.region}.amazonaws.com/{credential.bucket}"
                .parse()
                .unwrap(),
            auth: plain.auth.clone(),
            unless: "inline".to_owned(),
        };
        let storing = ApiSpec {
            storage: Some(storage),
            ..plain
        };
        self.call_declared(storing, action, arguments, user).await
    }

    async fn call_declared(
        &self,
        declaration: ApiSpec,
        action: &ActionSpec,
        arguments: &Value,
        user: &AwsUser,
    ) -> ActionAnswer {
        let overrides = ApiOverrides {
            url: Some(self.url.clone()),
            storage_url: Some(self.url.join("pictures/made").unwrap()),
            ..ApiOverrides::default()
        };
        let api = DeclaredApi::new(
            "aws".parse().unwrap(),
            Arc::new(declaration),
            overrides,
            GuardedClient::new(Arc::new(anywhere)),
            Clock::system(),
        );
        let arguments = arguments.as_object().unwrap();
        let tokens = TokenCache::new(
            Clock::system(),
            Arc::new(|_: RotatedRefreshToken| unreachable!()),
        );
        api.call(
            action,
            arguments,
            &credential(user),
            &tokens,
            &http::HeaderMap::new(),
        )
        .await
        .unwrap()
    }
}

impl Drop for Moto {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn declaration(service: &str) -> ApiSpec {
    ApiSpec {
        url: format!("https://{service}.{{credential.region}}.amazonaws.com")
            .parse()
            .unwrap(),
        hosts: vec![format!("{service}.*.amazonaws.com").parse().unwrap()],
        credential: Some("aws".parse().unwrap()),
        optional_fields: Vec::new(),
        auth: AuthScheme::AwsSigV4 {
            service: service.to_owned(),
            region: "{credential.region}".parse().unwrap(),
        },
        headers: Vec::new(),
        timeout: Duration::from_secs(60),
        max_response_bytes: ApiSpec::DEFAULT_MAX_RESPONSE_BYTES,
        requests_per_minute: None,
        storage: None,
    }
}

fn credential(user: &AwsUser) -> Credential {
    let fields = [
        ("access_key_id", user.key.as_str()),
        ("secret_access_key", &user.secret),
        ("region", "us-east-1"),
        ("bucket", "pictures"),
    ];
    let fields: BTreeMap<_, _> = fields
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
    Credential::new(CredentialOwner::new("tenant/aws"), fields)
}

fn anywhere(_: IpAddr) -> Result<(), String> {
    Ok(())
}

fn json_of(answer: &ActionAnswer) -> Value {
    let result: Value = serde_json::from_str(answer.tool_result().get()).unwrap();
    serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap()
}

fn between(text: &str, before: &str, after: &str) -> String {
    let (_, rest) = text.split_once(before).unwrap();
    rest.split_once(after).unwrap().0.to_owned()
}

fn tools() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.tools");
    std::env::var_os("KITBAG_TOOLS").map_or(here, PathBuf::from)
}
