//! Servers that would mislead the user, or that Kitbag cannot log in to.

use super::{Running, browse, home, login};
use crate::harness::guarded::{Deviations, Guarded};
use crate::harness::{Home, Testbed, until};

/// The login must fail with this error, before the code or a token is sent anywhere.
async fn check(ways: Deviations, expected: &str) {
    let guarded = Guarded::start(ways).await;
    let home = home(&guarded.table("docs", ""));
    let output = login(&home, &[]).await;
    assert_eq!(output.code, Some(1), "{expected}");
    let expected = expected.replace("BASE", &guarded.base);
    let lines: Vec<&str> = output.stderr.lines().map(str::trim).collect();
    assert!(
        lines.contains(&"error: login to `docs` failed"),
        "{}",
        output.stderr
    );
    assert!(
        lines.contains(&format!("why: {expected}").as_str()),
        "{expected}\n{}",
        output.stderr
    );
    let output = home.kitbag(&["servers", "test", "docs"]).await;
    assert!(
        output.stdout.contains("run `kitbag servers login docs`"),
        "nothing is kept: {output:?}"
    );
}

#[tokio::test]
async fn a_server_that_describes_itself_as_another_gets_no_login() {
    let issuer = Some("https://honest.example");
    check(
        Deviations {
            issuer,
            ..Deviations::default()
        },
        "the metadata of the authorization server `BASE` names the issuer `https://honest.example`",
    )
    .await;
    let resource = Some("https://bank.example/mcp");
    check(
        Deviations {
            resource,
            ..Deviations::default()
        },
        "it identifies itself as `https://bank.example/mcp`, which is a different server",
    )
    .await;
}

#[tokio::test]
async fn an_answer_from_another_issuer_is_not_used() {
    let answers_as = Some("https://evil.example");
    check(
        Deviations {
            answers_as,
            ..Deviations::default()
        },
        "the answer should come from `BASE` but is from `https://evil.example`",
    )
    .await;
    check(
        Deviations {
            answers_as: Some(""),
            ..Deviations::default()
        },
        "the answer should come from `BASE` but does not name its sender",
    )
    .await;
}

/// Neither names itself. The hostile one passes the browser on to the honest one, where the user is
/// known already, and hopes to be sent its code.
#[tokio::test]
async fn the_code_of_one_authorization_server_is_not_sent_to_another() {
    let silent = || Deviations {
        answers_as: Some(""),
        names_itself: false,
        ..Deviations::default()
    };
    let (honest, hostile) = (
        Guarded::start(silent()).await,
        Guarded::start(silent()).await,
    );
    let tables = [honest.table("honest", ""), hostile.table("docs", "")];
    let home = home(&tables.concat());
    let visited = home.path("visited");
    let sent_to = async || {
        let opened = async || std::fs::read_to_string(&visited).ok();
        reqwest::Url::parse(&until("the browser opens", opened).await).unwrap()
    };
    let running = Running::start(&home, &["servers", "login", "honest"]);
    let address = sent_to().await;
    browse(address.as_str()).await;
    let output = running.outcome().await;
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let registered = redirect_uri(&address);

    std::fs::remove_file(&visited).unwrap();
    let running = Running::start(&home, &["servers", "login", "docs"]);
    let asked = sent_to().await;
    // An authorization server ignores the port of a registered redirect URI on this machine.
    let mut redirect = registered;
    redirect.set_port(redirect_uri(&asked).port()).unwrap();
    let mut passed_on = reqwest::Url::parse(&format!("{}/authorize", honest.base)).unwrap();
    for (name, value) in asked.query_pairs() {
        let value = match &*name {
            "redirect_uri" => redirect.as_str(),
            _ => &*value,
        };
        passed_on.query_pairs_mut().append_pair(&name, value);
    }
    browse(passed_on.as_str()).await;
    let output = running.outcome().await;
    assert_eq!(output.code, Some(1), "{}", output.stderr);
    assert!(
        output
            .stderr
            .contains("came to the redirect URI of another authorization server"),
        "{}",
        output.stderr
    );
    assert_eq!(hostile.count("token authorization_code"), 0);
    // Without the detour, the login works.
    super::log_in(&home, &[]).await;
}

fn redirect_uri(address: &reqwest::Url) -> reqwest::Url {
    let mut fields = address.query_pairs();
    let (_, value) = fields.find(|(name, _)| name == "redirect_uri").unwrap();
    reqwest::Url::parse(&value).unwrap()
}

#[tokio::test]
async fn a_callback_without_the_state_of_the_login_neither_ends_nor_changes_it() {
    let guarded = Guarded::start(Deviations::default()).await;
    let home = home(&guarded.table("docs", ""));
    let running = Running::start(&home, &["servers", "login", "docs"]);
    let visited = home.path("visited");
    let address = until("the browser opens", async || {
        std::fs::read_to_string(&visited).ok()
    })
    .await;
    let sent_to = reqwest::Url::parse(&address).unwrap();
    let (_, callback) = sent_to
        .query_pairs()
        .find(|(name, _)| name == "redirect_uri")
        .unwrap();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    for (uri, status) in [
        ("", 400),
        ("?code=evil", 400),
        ("?code=evil&state=", 400),
        ("?code=evil&state=guessed", 400),
        ("?error=access_denied&state=guessed", 400),
        ("/../?code=evil&state=guessed", 404),
    ] {
        let answer = client.get(format!("{callback}{uri}")).send().await.unwrap();
        assert_eq!(answer.status(), status, "{uri}");
    }
    assert!(browse(&address).await.contains("You can close this page"));
    let output = running.outcome().await;
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert_eq!(guarded.count("token authorization_code"), 1);
}

#[tokio::test]
async fn a_token_for_another_server_is_found_out_at_the_login() {
    let audience = Some("https://other.example");
    let expected = "the server does not accept the token that was issued for it";
    check(
        Deviations {
            audience,
            ..Deviations::default()
        },
        expected,
    )
    .await;
}

#[tokio::test]
async fn an_authority_that_cannot_protect_the_login_or_does_not_know_us_is_rejected() {
    let expected = "the authorization server `BASE` does not support PKCE (S256)";
    check(
        Deviations {
            pkce: false,
            ..Deviations::default()
        },
        expected,
    )
    .await;
    let expected = "the authorization server `BASE` accepts only registered clients";
    check(
        Deviations {
            registers: false,
            ..Deviations::default()
        },
        expected,
    )
    .await;
}

#[tokio::test]
async fn a_configured_authority_is_not_replaced_by_another() {
    let guarded = Guarded::start(Deviations::default()).await;
    let home = home(&guarded.table(
        "docs",
        "[servers.docs.oauth]\nissuer = 'https://mine.example'",
    ));
    let output = login(&home, &[]).await;
    let expected = format!(
        "the server now uses `{}`, but Kitbag's client belongs to `https://mine.example`",
        guarded.base
    );
    assert!(output.stderr.contains(&expected), "{}", output.stderr);
    assert_eq!(guarded.count("authorize"), 0);
}

#[tokio::test]
async fn servers_without_a_login_are_reported() {
    let header =
        "[servers.keyed]\nurl = 'http://127.0.0.1:1/mcp'\nheaders = { Authorization = 'Bearer x' }";
    let home = Home::new(&format!("{}{header}", Testbed::new("local").table()));
    for (name, what, advice) in [
        (
            "local",
            "`local` runs on this machine and has no login",
            "in `env` of [servers.local]",
        ),
        (
            "keyed",
            "`keyed` is configured with an `Authorization` header",
            "remove the header from [servers.keyed]",
        ),
        ("lokal", "no server `lokal`", "did you mean `local`?"),
    ] {
        let output = home.kitbag(&["servers", "login", name]).await;
        assert_eq!(output.code, Some(1));
        assert!(
            output.stderr.contains(what) && output.stderr.contains(advice),
            "{}",
            output.stderr
        );
    }
}
