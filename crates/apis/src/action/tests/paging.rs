//! Answers that come in pages.

use axum::body::Body;
use axum::http::Response;
use kitbag_tool_spec::PageRule;
use serde_json::json;

use super::site::{Seen, Site, json_reply, reply};
use super::*;

fn paged(rule: PageRule, parameter: &str) -> ActionSpec {
    let mut action = get("/items");
    action.query = vec![(
        parameter.to_owned(),
        format!("{{{parameter}}}").parse().unwrap(),
    )];
    action.pages = Some(rule);
    action
}

fn marks() -> ActionSpec {
    let rule = PageRule::Cursor {
        next: "/next".parse().unwrap(),
        into: "after".to_owned(),
        items: "/items".parse().unwrap(),
    };
    paged(rule, "after")
}

/// Three pages of two items, each with the cursor of the next.
fn by_cursor(seen: &Seen) -> Response<Body> {
    let (_, after) = seen.line.split_once("after=").unwrap_or_default();
    json_reply(&match after {
        "" => json!({ "items": [1, 2], "next": "m1" }),
        "m1" => json!({ "items": [3, 4], "next": "m2" }),
        _ => json!({ "items": [5], "next": "" }),
    })
}

#[tokio::test]
async fn a_cursor_leads_to_as_many_pages_as_the_caller_asks_for() {
    for (most, expected, requests) in [
        (
            json!({}),
            json!({ "items": [1, 2], "pages": 1, "more": true, "next": "m1" }),
            1,
        ),
        (
            json!({ "max_pages": 2 }),
            json!({ "items": [1, 2, 3, 4], "pages": 2, "more": true, "next": "m2" }),
            2,
        ),
        (
            json!({ "max_pages": 20 }),
            json!({ "items": [1, 2, 3, 4, 5], "pages": 3, "more": false }),
            3,
        ),
        (
            json!({ "after": "m1", "max_pages": 9 }),
            json!({ "items": [3, 4, 5], "pages": 2, "more": false }),
            2,
        ),
    ] {
        let site = Site::open(|_, seen| by_cursor(seen)).await;
        let answer = Bench::at(&site, |_| {}).call(&marks(), most).await.unwrap();
        assert_eq!(read(&answer), expected);
        assert_eq!(site.lines().len(), requests);
    }
}

#[tokio::test]
async fn a_link_is_only_followed_within_the_api() {
    let site = Site::open(|number, _| {
        let next = [
            "</v1/items?page=2>; rel=\"next\", </v1/items?page=9>; rel=\"last\"",
            "<items?page=3,4>; rel=\"prev next\"",
            "<https://elsewhere.example/items>; rel=next",
        ];
        reply(
            200,
            &[("link", next[number])],
            format!("[{{\"n\":{number},\"x\":1}}]"),
        )
    })
    .await;
    let rule = PageRule::Link {
        relation: "next".to_owned(),
        items: "".parse().unwrap(),
    };
    let mut action = paged(rule, "page");
    action.answer.keep = vec!["/n".parse().unwrap()];
    let answer = Bench::at(&site, |_| {})
        .call(&action, json!({ "max_pages": 20 }))
        .await
        .unwrap();
    assert_eq!(
        read(&answer),
        json!({
            "items": [{ "n": 0 }, { "n": 1 }, { "n": 2 }], "pages": 3, "more": true,
            "incomplete": "the next page has a different origin, to which the credential is not sent",
        })
    );
    assert_eq!(
        site.lines(),
        [
            "GET /v1/items",
            "GET /v1/items?page=2",
            "GET /v1/items?page=3,4"
        ]
    );
}

#[tokio::test]
async fn a_number_counts_up_until_a_page_is_empty() {
    let site = Site::open(|number, _| match number {
        0 | 1 => json_reply(&json!({ "items": [number] })),
        _ => json_reply(&json!({ "items": [] })),
    })
    .await;
    let rule = PageRule::Number {
        argument: "page".to_owned(),
        items: "/items".parse().unwrap(),
    };
    let mut action = paged(rule, "page");
    action.defaults = members(json!({ "page": 0 }));
    let answer = Bench::at(&site, |_| {})
        .call(&action, json!({ "max_pages": 20 }))
        .await
        .unwrap();
    assert_eq!(
        read(&answer),
        json!({ "items": [0, 1], "pages": 3, "more": false })
    );
    assert_eq!(
        site.lines(),
        [
            "GET /v1/items?page=0",
            "GET /v1/items?page=1",
            "GET /v1/items?page=2"
        ]
    );
}

#[tokio::test]
async fn a_later_page_that_fails_ends_the_list_and_is_reported() {
    for (second, timeout, expected) in [
        (500, 20_000, "HTTP 500 Internal Server Error: oops"),
        (0, 200, "`desk` did not answer within 200ms"),
        (1, 20_000, "all pages together have more than 4096 bytes"),
        (
            200,
            20_000,
            "the next page has no list at the path where the other pages have it",
        ),
    ] {
        let site = Site::open(move |number, seen| match (number, second) {
            (0, _) => by_cursor(seen),
            (_, 0) => {
                let silence = futures::stream::pending::<Result<&[u8], std::convert::Infallible>>();
                reply(200, &[], Body::from_stream(silence))
            }
            (_, 1) => reply(200, &[], vec![b' '; 4090]),
            (_, status) => reply(status, &[], "oops"),
        })
        .await;
        let bench = Bench::at(&site, |api| api.timeout = Duration::from_millis(timeout));
        let answer = bench
            .call(&marks(), json!({ "max_pages": 20 }))
            .await
            .unwrap();
        assert_eq!(
            read(&answer),
            json!({ "items": [1, 2], "pages": 1, "more": true, "next": "m1", "incomplete": expected })
        );
    }
}

#[tokio::test]
async fn a_page_without_a_list_or_a_way_on_is_the_last() {
    let site = Site::open(|_, _| reply(404, &[], "none")).await;
    let answer = Bench::at(&site, |_| {})
        .call(&marks(), json!({}))
        .await
        .unwrap();
    assert_eq!(
        (read(&answer), answer.is_error),
        (json!("HTTP 404 Not Found: none"), true)
    );
    let last = json!({ "items": [1], "next": "id-1", "has_more": false });
    let site = Site::open(move |_, _| json_reply(&last)).await;
    let answer = Bench::at(&site, |_| {})
        .call(&marks(), json!({}))
        .await
        .unwrap();
    assert_eq!(
        read(&answer),
        json!({ "items": [1], "pages": 1, "more": false })
    );
    let site = Site::open(|_, _| json_reply(&json!({ "items": [1], "next": "same" }))).await;
    let arguments = json!({ "after": "same", "max_pages": 20 });
    let answer = Bench::at(&site, |_| {})
        .call(&marks(), arguments)
        .await
        .unwrap();
    assert_eq!(
        site.lines().len(),
        1,
        "a cursor that leads back to itself: {answer:?}"
    );
}
