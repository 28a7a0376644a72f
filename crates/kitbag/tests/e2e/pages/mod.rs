//! Who sees and changes the web pages: people, and attackers who use a person's browser.
//!
//! # Layout
//! - [`foreign`]: other web pages, other hosts, proxies; [`people`]: keys, roles and sessions
//! - [`answers`]: headers, methods and limits of every answer

mod answers;
mod foreign;
mod people;

use std::collections::BTreeSet;
use std::sync::Mutex;

use http::HeaderMap;
use http::header::{COOKIE, LOCATION, SET_COOKIE};
use reqwest::{Client, Method, redirect};

use crate::harness::{Gateway, Home};

/// The pages of the navigation, and parts of other pages.
const PATHS: [&str; 13] = [
    "/ui",
    "/ui/search",
    "/ui/tools",
    "/ui/servers",
    "/ui/calls",
    "/ui/code",
    "/ui/learned",
    "/ui/access",
    "/ui/feedback",
    "/ui/agents",
    "/ui/no-such-page",
    "/ui/calls?tool=x",
    "/ui/a/b/c",
];

/// A change that no page offers: an admitted person gets 404.
const CHANGE: &str = "/ui/no-such-change";

/// A browser with its own cookies, which follows no redirect.
struct Browser {
    http: Client,
    base: String,
    cookies: Mutex<Vec<(String, String)>>,
}

#[derive(Debug)]
struct Page {
    status: u16,
    headers: HeaderMap,
    text: String,
}

impl Browser {
    fn new(gateway: &Gateway) -> Self {
        let client = Client::builder().redirect(redirect::Policy::none());
        Self {
            http: client.build().unwrap(),
            base: gateway.base.clone(),
            cookies: Mutex::default(),
        }
    }

    async fn signed_in(gateway: &Gateway, key: &str) -> Self {
        let browser = Self::new(gateway);
        let page = browser.submit("/ui/sign-in", &[("key", key)]).await;
        assert_eq!(
            (page.status, page.location()),
            (303, "/ui"),
            "{}",
            page.text
        );
        browser
    }

    async fn get(&self, path: &str) -> Page {
        self.send(Method::GET, path, &[], "").await
    }

    /// Sends a form like one of the gateway's own pages.
    async fn submit(&self, path: &str, fields: &[(&str, &str)]) -> Page {
        let own = [
            ("origin", self.base.as_str()),
            ("sec-fetch-site", "same-origin"),
        ];
        self.send(Method::POST, path, &own, &encode(fields)).await
    }

    async fn send(&self, method: Method, path: &str, headers: &[(&str, &str)], form: &str) -> Page {
        let cookies = self.cookies.lock().unwrap().clone();
        let pairs: Vec<_> = cookies
            .iter()
            .map(|(name, id)| format!("{name}={id}"))
            .collect();
        let mut request = self.http.request(method, format!("{}{path}", self.base));
        if !pairs.is_empty() {
            request = request.header(COOKIE, pairs.join("; "));
        }
        if !form.is_empty() {
            let kind = "application/x-www-form-urlencoded";
            request = request.header("content-type", kind).body(form.to_owned());
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let answer = request.send().await.unwrap();
        let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
        self.keep_cookies(&headers);
        // The body of a stream has no end.
        let text = match headers
            .get("content-type")
            .is_some_and(|it| it == "text/event-stream")
        {
            true => String::new(),
            false => answer.text().await.unwrap(),
        };
        Page {
            status,
            headers,
            text,
        }
    }

    fn keep_cookies(&self, headers: &HeaderMap) {
        for cookie in headers.get_all(SET_COOKIE) {
            let pair = cookie.to_str().unwrap().split(';').next().unwrap();
            let (name, value) = pair.split_once('=').unwrap();
            let mut cookies = self.cookies.lock().unwrap();
            cookies.retain(|(known, _)| known != name);
            cookies.push((name.to_owned(), value.to_owned()));
        }
    }

    /// The token of this session's forms.
    async fn csrf(&self) -> String {
        for path in PATHS {
            let page = self.get(path).await;
            if let Some(token) = page.values("name=\"csrf\" value=\"").into_iter().next() {
                return token;
            }
        }
        panic!("no page has a form");
    }

    /// All pages that links lead to, with their text.
    async fn all_pages(&self) -> Vec<(String, Page)> {
        let (mut seen, mut pages) = (BTreeSet::new(), Vec::new());
        let mut next = vec!["/ui".to_owned()];
        while let Some(path) = next.pop() {
            if pages.len() > 200 || !seen.insert(path.clone()) {
                continue;
            }
            let page = self.get(&path).await;
            let links = page.values("href=\"/ui").into_iter();
            next.extend(
                links
                    .filter(|link| !link.starts_with("/assets"))
                    .map(|link| format!("/ui{}", link.replace("&amp;", "&"))),
            );
            pages.push((path, page));
        }
        pages
    }
}

impl Page {
    fn location(&self) -> &str {
        self.headers
            .get(LOCATION)
            .map_or("", |to| to.to_str().unwrap())
    }

    /// What follows `start` in the text, up to the next quote, wherever it occurs.
    fn values(&self, start: &str) -> Vec<String> {
        let parts = self.text.split(start).skip(1);
        parts
            .filter_map(|part| Some(part.split_once('"')?.0.to_owned()))
            .collect()
    }

    fn is_sign_in(&self) -> bool {
        self.status == 303 && self.location().starts_with("/ui/sign-in")
    }
}

fn encode(fields: &[(&str, &str)]) -> String {
    let mut url = reqwest::Url::parse("http://x").unwrap();
    url.query_pairs_mut().extend_pairs(fields);
    url.query().unwrap_or_default().to_owned()
}

/// Returns the id of a new key and the key.
async fn create_key(home: &Home, words: &[&str]) -> (String, String) {
    let words = [&["key", "create", "--json"], words].concat();
    let output = home.kitbag(&words).await;
    let created: serde_json::Value =
        serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    let text = |name: &str| created[name].as_str().unwrap().to_owned();
    (text("id"), text("key"))
}

/// A gateway that requires a key, and the keys of an admin and of an operator.
async fn guarded_gateway(servers: &str) -> (Gateway, String, String) {
    let serve = "[serve]\nbind = \"127.0.0.1:0\"\nrequire_key = true\n";
    let home = Home::new(&format!("{serve}{servers}"));
    let (_, admin) = create_key(&home, &["--role", "admin"]).await;
    let (_, operator) = create_key(&home, &["--role", "operator"]).await;
    (home.serve().await, admin, operator)
}
