//! Requests that are repeated, delayed, or never repeated.

use std::num::NonZeroU32;

use axum::body::Body;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::site::{Site, reply};
use super::*;

/// Answers with the statuses in turn, then with the last one forever.
async fn turns(statuses: &'static [u16], headers: &'static [(&'static str, &'static str)]) -> Site {
    Site::open(move |number, _| {
        let status = statuses[number.min(statuses.len() - 1)];
        let headers = if status == 200 { &[] } else { headers };
        reply(status, headers, Body::empty())
    })
    .await
}

#[tokio::test]
async fn only_a_repeatable_request_is_sent_again_and_at_most_twice() {
    for (statuses, repeatable, requests, last) in [
        (&[429, 200][..], true, 2, 200),
        (&[503, 429, 200][..], true, 3, 200),
        (&[503][..], true, 3, 503),
        (&[500, 200][..], true, 1, 500),
        (&[429, 200][..], false, 1, 429),
        (&[503, 200][..], false, 1, 503),
    ] {
        let site = turns(statuses, &[]).await;
        let bench = Bench::at(&site, |_| {});
        let action = ActionSpec {
            repeatable,
            ..get("/x")
        };
        let answer = bench.call(&action, json!({})).await.unwrap();
        assert_eq!(
            (answer.status, site.lines().len()),
            (last, requests),
            "{statuses:?}"
        );
        let waited = bench.time.waited();
        assert_eq!(waited.len(), requests - 1);
        for (wait, usual) in waited.iter().zip([500, 1000]) {
            let wait = wait.as_millis();
            assert!(wait >= usual / 2 && wait <= usual * 3 / 2, "{wait} ms");
        }
    }
}

#[tokio::test]
async fn the_requested_wait_is_observed_or_reported() {
    let site = turns(&[429, 200], &[("retry-after", "7")]).await;
    let bench = Bench::at(&site, |_| {});
    let answer = bench.call(&get("/x"), json!({})).await.unwrap();
    assert_eq!(answer.status, 200);
    assert_eq!(bench.time.waited(), [Duration::from_secs(7)]);

    let site = turns(&[429, 200], &[("retry-after", "30")]).await;
    let bench = Bench::at(&site, |_| {});
    let answer = bench.call(&get("/x"), json!({})).await.unwrap();
    assert_eq!(answer.status, 429, "the call lasts twenty seconds at most");
    bench.time.pass(Duration::from_secs(5));
    let error = bench.call(&write("/x"), json!({})).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "`desk` has reached its rate limit; the next request is possible in 25 s"
    );
    assert_eq!(
        (error.code(), error.culprit()),
        ("RATE_LIMITED", Culprit::Api)
    );
    bench.time.pass(Duration::from_secs(10));
    let answer = bench.call(&get("/x"), json!({})).await.unwrap();
    assert_eq!(
        (answer.status, bench.time.waited()),
        (200, vec![Duration::from_secs(15)])
    );
}

#[tokio::test]
async fn a_declared_limit_only_delays_the_tenants_own_requests() {
    let site = turns(&[200], &[]).await;
    let mut bench = Bench::at(&site, |api| {
        api.requests_per_minute = NonZeroU32::new(2);
        api.timeout = Duration::from_secs(90);
    });
    for _ in 0..3 {
        bench.call(&get("/x"), json!({})).await.unwrap();
    }
    assert_eq!(bench.time.waited(), [Duration::from_secs(60)]);
    bench.credential = Credential::new(CredentialOwner::new("other/desk"), BTreeMap::new());
    let mut open = get("/x");
    open.writes = ActionWrites::Read;
    bench.call(&open, json!({})).await.unwrap();
    assert_eq!(bench.time.waited().len(), 1);
}

/// Drops the first connections without an answer, and then answers.
async fn hangs_up(times: usize) -> Site {
    let listener = tokio::net::TcpListener::bind((HOME, 0)).await.unwrap();
    let site = Site::at(listener.local_addr().unwrap());
    tokio::spawn(async move {
        for number in 0.. {
            let (mut stream, _) = listener.accept().await.unwrap();
            let _request = stream.read(&mut [0; 4096]).await.unwrap();
            if number >= times {
                let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
                stream.write_all(answer).await.unwrap();
            }
        }
    });
    site
}

#[tokio::test]
async fn a_connection_that_ends_before_an_answer_is_tried_again() {
    let bench = Bench::at(&hangs_up(2).await, |_| {});
    let answer = bench.call(&get("/x"), json!({})).await.unwrap();
    assert_eq!((answer.status, bench.time.waited().len()), (200, 2));
    let bench = Bench::at(&hangs_up(1).await, |_| {});
    let found = bench.fails(&write("/x"), json!({})).await;
    assert!(
        found.starts_with("`desk` could not be reached at http://127.0.0.1:"),
        "{found}"
    );
}
