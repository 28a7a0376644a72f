//! Actions of tool files against real servers on this machine.

mod answers;
mod attempts;
mod logins;
mod paging;
mod requests;
mod site;
mod tokens;

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use http::Method;
use kitbag_tool_spec::{
    ActionSpec, ActionWrites, AnswerRule, ApiSpec, AuthScheme, BodyPattern, JsonPattern,
};
use serde_json::{Map, Value, json};

use super::*;
use crate::auth::{CredentialOwner, RotatedRefreshToken};
use site::Site;

const HOME: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const SECRET: &str = "s3cret-value";

/// An API with a tenant and a clock under the test's control.
struct Bench {
    api: DeclaredApi,
    credential: Credential,
    tokens: TokenCache,
    time: TestTime,
    rotated: Arc<Mutex<Vec<RotatedRefreshToken>>>,
    trace: HeaderMap,
}

/// A clock that is stopped, and jumps when a call waits.
#[derive(Clone)]
struct TestTime {
    now: Arc<Mutex<SystemTime>>,
    waited: Arc<Mutex<Vec<Duration>>>,
}

impl TestTime {
    fn new() -> Self {
        let start = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        Self {
            now: Arc::new(Mutex::new(start)),
            waited: Arc::default(),
        }
    }

    fn pass(&self, time: Duration) {
        *self.now.lock().unwrap() += time;
    }

    fn clock(&self) -> Clock {
        let (reading, waiting) = (self.clone(), self.clone());
        Clock::new(
            move || *reading.now.lock().unwrap(),
            move |time| {
                waiting.pass(time);
                waiting.waited.lock().unwrap().push(time);
                Box::pin(std::future::ready(()))
            },
        )
    }

    fn waited(&self) -> Vec<Duration> {
        self.waited.lock().unwrap().clone()
    }
}

impl Bench {
    fn at(site: &Site, edit: impl FnOnce(&mut ApiSpec)) -> Self {
        let overrides = ApiOverrides {
            url: Some(site.url("/v1")),
            token_url: Some(site.url("/token")),
            ..ApiOverrides::default()
        };
        Self::with(overrides, edit)
    }

    /// Calls the address that the file declares.
    fn declared(edit: impl FnOnce(&mut ApiSpec)) -> Self {
        Self::with(ApiOverrides::default(), edit)
    }

    fn with(overrides: ApiOverrides, edit: impl FnOnce(&mut ApiSpec)) -> Self {
        let mut declaration = declaration();
        edit(&mut declaration);
        let (time, rotated) = (TestTime::new(), Arc::new(Mutex::new(Vec::new())));
        let kept = rotated.clone();
        let keep = move |token| {
            kept.lock().unwrap().push(token);
            Box::pin(std::future::ready(())) as futures::future::BoxFuture<'static, ()>
        };
        Self {
            api: DeclaredApi::new(
                "desk".parse().unwrap(),
                Arc::new(declaration),
                overrides,
                GuardedClient::new(Arc::new(only_home)),
                time.clock(),
            ),
            credential: credential(&[("token", SECRET), ("key", SECRET), ("account", "a-1")]),
            tokens: TokenCache::new(time.clock(), Arc::new(keep)),
            time,
            rotated,
            trace: HeaderMap::new(),
        }
    }

    async fn call(
        &self,
        action: &ActionSpec,
        arguments: Value,
    ) -> Result<ActionAnswer, ActionError> {
        let arguments = members(arguments);
        let call = self.api.call(
            action,
            &arguments,
            &self.credential,
            &self.tokens,
            &self.trace,
        );
        let answer = call.await;
        if let Err(error) = &answer {
            let shown = format!("{error} {error:?} {:?}", self.credential);
            assert!(!shown.contains(SECRET), "{shown}");
        }
        answer
    }

    /// The error of a failing call.
    async fn fails(&self, action: &ActionSpec, arguments: Value) -> String {
        self.call(action, arguments).await.unwrap_err().to_string()
    }
}

fn only_home(address: IpAddr) -> Result<(), String> {
    match address == HOME {
        true => Ok(()),
        false => Err(format!("{address} is not permitted")),
    }
}

fn declaration() -> ApiSpec {
    ApiSpec {
        url: "https://desk.example/api".parse().unwrap(),
        hosts: vec!["desk.example".parse().unwrap()],
        credential: Some("desk".parse().unwrap()),
        optional_fields: Vec::new(),
        auth: AuthScheme::Nothing,
        headers: Vec::new(),
        timeout: Duration::from_secs(20),
        max_response_bytes: 4096,
        requests_per_minute: None,
        storage: None,
    }
}

/// A read; [`write`] turns it into one that must not be repeated.
fn get(path: &str) -> ActionSpec {
    ActionSpec {
        name: "look".parse().unwrap(),
        writes: ActionWrites::Read,
        repeatable: true,
        method: Method::GET,
        path: path.parse().unwrap(),
        query: Vec::new(),
        headers: Vec::new(),
        body: None,
        defaults: Map::new(),
        pages: None,
        answer: AnswerRule::default(),
    }
}

fn post(path: &str, body: &Value) -> ActionSpec {
    ActionSpec {
        method: Method::POST,
        body: Some(BodyPattern::Json(JsonPattern::from_value(body).unwrap())),
        ..write(path)
    }
}

fn write(path: &str) -> ActionSpec {
    ActionSpec {
        writes: ActionWrites::Write,
        repeatable: false,
        ..get(path)
    }
}

fn credential(fields: &[(&str, &str)]) -> Credential {
    let fields = fields.iter();
    let fields: BTreeMap<_, _> = fields
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    Credential::new(CredentialOwner::new("tenant/desk"), fields)
}

fn members(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        other => panic!("{other} is no object"),
    }
}

/// The answer as a client reads it: texts are parsed as JSON if possible.
fn read(answer: &ActionAnswer) -> Value {
    let result: Value = serde_json::from_str(answer.tool_result().get()).unwrap();
    let blocks = result["content"].as_array().unwrap();
    let read: Vec<Value> = blocks
        .iter()
        .map(|block| match block["text"].as_str() {
            Some(text) => serde_json::from_str(text).unwrap_or_else(|_| json!(text)),
            None => json!(format!("{} {}", block["mimeType"], block["data"]).replace('"', "")),
        })
        .collect();
    match <[Value; 1]>::try_from(read) {
        Ok([single]) => single,
        Err(several) => Value::Array(several),
    }
}
