//! Keys, roles and sessions of the people who look at pages.

use std::collections::BTreeSet;

use super::{Browser, CHANGE, PATHS, Page, create_key, guarded_gateway};
use crate::harness::{Gateway, Home, Testbed, until};

#[tokio::test]
async fn without_a_session_no_page_is_shown_where_a_key_is_required() {
    let (gateway, _, _) = guarded_gateway("").await;
    let stranger = Browser::new(&gateway);
    for path in PATHS {
        let page = stranger.get(path).await;
        assert!(
            page.is_sign_in() && page.text.is_empty(),
            "{path}: {page:?}"
        );
    }
    assert_eq!(stranger.get("/ui/events").await.status, 401);
    let token = "a".repeat(43);
    let page = stranger.submit(CHANGE, &[("csrf", &token)]).await;
    assert_eq!(page.location(), "/ui/sign-in?next=%2Fui");
    // Nor with a session that the stranger has chosen, nor with a key in a header.
    let port = gateway.base.rsplit(':').next().unwrap();
    stranger
        .cookies
        .lock()
        .unwrap()
        .push((format!("kitbag_{port}"), token));
    assert!(stranger.get("/ui").await.is_sign_in());
}

#[tokio::test]
async fn only_keys_of_operators_and_admins_sign_in() {
    let (gateway, admin, operator) = guarded_gateway("").await;
    let (_, client) = create_key(&gateway.home, &["--tenant", "acme"]).await;
    let (revoked_id, revoked) = create_key(&gateway.home, &["--role", "admin"]).await;
    gateway.home.kitbag(&["key", "revoke", &revoked_id]).await;
    let mut almost = admin.clone();
    almost.pop();
    for key in [
        client.as_str(),
        &revoked,
        &almost,
        "",
        "kb_",
        "garbage",
        "<b>",
        &"x".repeat(9000),
    ] {
        let browser = Browser::new(&gateway);
        let page = browser.submit("/ui/sign-in", &[("key", key)]).await;
        assert_eq!(page.status, 401, "{key}");
        assert!(!page.headers.contains_key("set-cookie"), "{key}");
        assert!(
            key.len() < 5 || !page.text.contains(key),
            "an answer repeats no secret"
        );
        assert!(browser.get("/ui").await.is_sign_in(), "{key}");
    }
    for key in [&admin, &operator] {
        let browser = Browser::signed_in(&gateway, key).await;
        assert_eq!(browser.get("/ui").await.status, 200);
        let log = gateway.log();
        assert!(!log.contains(key.as_str()), "the log holds no secret");
    }
}

#[tokio::test]
async fn a_wrong_key_at_the_form_is_counted_and_audited_without_the_key() {
    let (gateway, admin, _) = guarded_gateway("").await;
    let guess = format!("{}f", &admin[..admin.len() - 1]);
    let page = Browser::new(&gateway)
        .submit("/ui/sign-in", &[("key", &guess)])
        .await;
    assert_eq!(page.status, 401);
    let rows = until("the row is written", async || {
        let rows = gateway
            .home
            .kitbag(&["audit", "--event", "key_refused", "--json"])
            .await
            .stdout;
        rows.contains("key_refused").then_some(rows)
    })
    .await;
    assert!(!rows.contains(&guess), "{rows}");
}

#[tokio::test]
async fn a_reader_sees_every_page_and_changes_nothing() {
    let (gateway, _, operator) = guarded_gateway(&Testbed::new("bed").table()).await;
    let reader = Browser::signed_in(&gateway, &operator).await;
    for (path, page) in reader.all_pages().await {
        assert_eq!(page.status, 200, "{path}");
        let forms = page.values("method=\"post\" action=\"");
        assert_eq!(forms, ["/ui/sign-out"], "{path} offers a reader a change");
    }
    let csrf = reader.csrf().await;
    let page = reader.submit(CHANGE, &[("csrf", &csrf)]).await;
    assert_eq!(page.status, 403);
    assert!(page.text.contains("may only read"), "{}", page.text);
}

#[tokio::test]
async fn every_form_needs_the_token_of_its_session() {
    let (gateway, admin, operator) = guarded_gateway(&Testbed::new("bed").table()).await;
    let person = Browser::signed_in(&gateway, &admin).await;
    let other = Browser::signed_in(&gateway, &admin).await;
    let reader = Browser::signed_in(&gateway, &operator).await;
    let (own, foreign) = (person.csrf().await, other.csrf().await);
    let mut actions = BTreeSet::from([CHANGE.to_owned()]);
    for (path, page) in person.all_pages().await {
        assert_eq!(page.status, 200, "{path}");
        let (forms, tokens) = (
            page.values("method=\"post\" action=\""),
            page.values("name=\"csrf\" value=\""),
        );
        assert_eq!(
            forms.len(),
            tokens.len(),
            "{path} has a form without a token"
        );
        actions.extend(forms);
    }
    let almost = format!("{}A", &own[..own.len() - 1]);
    let reader_token = reader.csrf().await;
    for action in &actions {
        for token in [
            "",
            "x",
            &almost,
            &foreign,
            &reader_token,
            &own.to_lowercase(),
        ] {
            let page = person.submit(action, &[("csrf", token)]).await;
            assert_eq!(page.status, 403, "{action} {token}");
        }
        let page = person.submit(action, &[("other", &own)]).await;
        assert_eq!(page.status, 403, "{action}");
        // In a query it would be in logs and histories.
        let in_query = format!("{action}?csrf={own}");
        assert_eq!(
            person.submit(&in_query, &[("x", "y")]).await.status,
            403,
            "{action}"
        );
    }
    let page = person.submit(CHANGE, &[("csrf", &own)]).await;
    assert_eq!(page.status, 404, "with its own token the form arrives");
}

#[tokio::test]
async fn every_form_leads_somewhere() {
    let servers = format!(
        "{}{}",
        Testbed::new("bed").table(),
        Testbed::new("other").table()
    );
    let gateway = Gateway::with(&servers).await;
    let person = Browser::new(&gateway);
    let csrf = person.csrf().await;
    let mut actions = BTreeSet::new();
    for (_, page) in person.all_pages().await {
        actions.extend(page.values("method=\"post\" action=\""));
    }
    assert!(actions.len() > 5, "{actions:?}");
    for action in &actions {
        let page = person.submit(action, &[("csrf", &csrf)]).await;
        // A form of before may have removed what this one is about.
        let is_answered = page.status < 500 && page.status != 405;
        let is_known = !page.text.contains("There is no such page");
        assert!(
            is_answered && is_known,
            "{action}: {} {}",
            page.status,
            page.text
        );
    }
}

#[tokio::test]
async fn a_revoked_key_ends_its_sessions_and_streams() {
    let (gateway, _, _) = guarded_gateway("").await;
    let (id, key) = create_key(&gateway.home, &["--role", "admin"]).await;
    let person = Browser::signed_in(&gateway, &key).await;
    let csrf = person.csrf().await;
    let mut events = open_events(&gateway, &person).await;
    gateway.home.kitbag(&["key", "revoke", &id]).await;
    until("the session has ended", async || {
        person.get("/ui").await.is_sign_in().then_some(())
    })
    .await;
    let page = person.submit(CHANGE, &[("csrf", &csrf)]).await;
    assert!(page.is_sign_in(), "{page:?}");
    until("the stream ends", async || {
        matches!(events.chunk().await, Ok(None)).then_some(())
    })
    .await;
}

#[tokio::test]
async fn signing_out_ends_the_session_for_everyone_who_has_its_cookie() {
    let (gateway, admin, _) = guarded_gateway("").await;
    let person = Browser::signed_in(&gateway, &admin).await;
    let thief = Browser::new(&gateway);
    *thief.cookies.lock().unwrap() = person.cookies.lock().unwrap().clone();
    assert_eq!(thief.get("/ui").await.status, 200);
    let csrf = person.csrf().await;
    let page = person.submit("/ui/sign-out", &[("csrf", &csrf)]).await;
    assert!(page.is_sign_in());
    for browser in [&person, &thief] {
        assert!(browser.get("/ui").await.is_sign_in());
    }
}

#[tokio::test]
async fn a_session_begins_with_a_new_cookie_that_scripts_and_other_sites_cannot_use() {
    let (gateway, admin, operator) = guarded_gateway("").await;
    let cookie = |page: &Page| page.headers["set-cookie"].to_str().unwrap().to_owned();
    let browser = Browser::new(&gateway);
    let page = browser.submit("/ui/sign-in", &[("key", &operator)]).await;
    let first = cookie(&page);
    let port = gateway.base.rsplit(':').next().unwrap();
    assert!(first.starts_with(&format!("kitbag_{port}=")), "{first}");
    assert!(
        first.ends_with("; Path=/ui; HttpOnly; SameSite=Strict"),
        "{first}"
    );
    let former = Browser::new(&gateway);
    former.keep_cookies(&page.headers);
    assert_eq!(former.get("/ui").await.status, 200);
    // Another sign-in in this browser ends the former session.
    let second = cookie(&browser.submit("/ui/sign-in", &[("key", &admin)]).await);
    assert_ne!(first, second);
    assert!(former.get("/ui").await.is_sign_in());
}

#[tokio::test]
async fn after_signing_in_a_person_stays_on_this_gateway() {
    let (gateway, admin, _) = guarded_gateway("").await;
    let to = async |next: &str| {
        let fields = [("key", admin.as_str()), ("next", next)];
        let page = Browser::new(&gateway).submit("/ui/sign-in", &fields).await;
        assert_eq!(page.status, 303, "{next}");
        page.location().to_owned()
    };
    assert_eq!(to("/ui/calls?tool=a%20b").await, "/ui/calls?tool=a%20b");
    for next in [
        "https://evil.example",
        "//evil.example",
        "/\\evil.example",
        "/ui\\..\\..\\evil",
        "/ui/\u{1}",
        "/ui/\r\nset-cookie: kitbag=x",
        "javascript:alert(1)",
        "/ui/sign-out",
        " /ui",
    ] {
        assert_eq!(to(next).await, "/ui", "{next:?}");
    }
    let page = Browser::new(&gateway)
        .get("/ui/sign-in?next=%22%3E%3Cscript%3E")
        .await;
    assert!(!page.text.contains("\"><script>"), "{}", page.text);
}

#[tokio::test]
async fn at_this_machine_without_keys_everyone_is_an_admin() {
    let gateway = Gateway::with("").await;
    let person = Browser::new(&gateway);
    let page = person.get("/ui").await;
    assert_eq!(page.status, 200);
    assert!(page.headers.contains_key("set-cookie"));
    assert!(
        !person.get("/ui").await.headers.contains_key("set-cookie"),
        "one session"
    );
    let stranger = Browser::new(&gateway);
    let csrf = person.csrf().await;
    assert_eq!(person.submit(CHANGE, &[("csrf", &csrf)]).await.status, 404);
    assert_eq!(
        stranger.submit(CHANGE, &[("csrf", &csrf)]).await.status,
        403
    );
}

#[tokio::test]
async fn a_store_that_does_not_answer_signs_nobody_out() {
    let serve = "[serve]\nbind = \"127.0.0.1:0\"\nrequire_key = true\n";
    let home = Home::new(serve);
    let (_, admin) = create_key(&home, &["--role", "admin"]).await;
    let gateway = home.serve().await;
    let person = Browser::signed_in(&gateway, &admin).await;
    // More open requests than one caller may have.
    let mut streams = Vec::new();
    let page = loop {
        assert!(streams.len() < 5000, "there is no limit");
        streams.push(open_events(&gateway, &person).await);
        let page = person.get("/ui").await;
        if page.status != 200 {
            break page;
        }
    };
    assert_eq!(page.status, 503, "{}", page.text);
    drop(streams);
    until("the session is still there", async || {
        let page = person.get("/ui").await;
        assert!(!page.is_sign_in());
        (page.status == 200).then_some(())
    })
    .await;
}

async fn open_events(gateway: &Gateway, person: &Browser) -> reqwest::Response {
    let (name, id) = person.cookies.lock().unwrap()[0].clone();
    let request = person.http.get(format!("{}/ui/events", gateway.base));
    let answer = request
        .header("cookie", format!("{name}={id}"))
        .send()
        .await
        .unwrap();
    assert_eq!(answer.status(), 200);
    answer
}
