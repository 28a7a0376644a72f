//! Requests that a web page can make a browser send to a gateway on the same machine.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::harness::Gateway;

/// The response status to exactly these header lines and body.
async fn status(gateway: &Gateway, lines: &[&str], body: &str) -> String {
    let address = gateway.base.trim_start_matches("http://");
    let mut stream = TcpStream::connect(address).await.unwrap();
    let lines = lines.join("\r\n").replace("HERE", address);
    let request = format!(
        "{lines}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
        .split_whitespace()
        .nth(1)
        .unwrap_or_default()
        .to_owned()
}

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#;
const INTENT: &str = r#"{"intent":"anything"}"#;

#[tokio::test]
async fn a_page_gets_in_by_no_request_that_needs_no_preflight() {
    let gateway = Gateway::with("").await;
    let json = "Content-Type: application/json";
    let cases: [(&[&str], &str, &str); 16] = [
        (
            &["POST /mcp HTTP/1.1", "Host: HERE", json],
            INITIALIZE,
            "200",
        ),
        (&["POST /mcp HTTP/1.1", "Host: HERE"], INITIALIZE, "200"),
        (
            &["POST http://HERE/mcp HTTP/1.1", "Host: HERE", json],
            INITIALIZE,
            "200",
        ),
        (
            &["POST http://evil.example/mcp HTTP/1.1", "Host: HERE", json],
            INITIALIZE,
            "400",
        ),
        (
            &[
                "POST /mcp HTTP/1.1",
                "Host: HERE",
                "Host: evil.example",
                json,
            ],
            INITIALIZE,
            "403",
        ),
        (
            &[
                "POST /mcp HTTP/1.1",
                "Host: HERE",
                "Origin: http://localhost",
                "Origin: http://evil.example",
                json,
            ],
            INITIALIZE,
            "403",
        ),
        (
            &[
                "POST /mcp HTTP/1.1",
                "Host: HERE",
                "Origin: chrome-extension://localhost",
                json,
            ],
            INITIALIZE,
            "403",
        ),
        (
            &[
                "POST /mcp HTTP/1.1",
                "Host: HERE",
                "Sec-Fetch-Site: cross-site",
                json,
            ],
            INITIALIZE,
            "403",
        ),
        (
            &[
                "POST /mcp HTTP/1.1",
                "Host: HERE",
                "Content-Type: text/plain",
            ],
            INITIALIZE,
            "415",
        ),
        (
            &[
                "POST /mcp HTTP/1.1",
                "Host: HERE",
                "Content-Type: application/x-www-form-urlencoded",
            ],
            INITIALIZE,
            "415",
        ),
        (
            &[
                "POST /servers/x/mcp HTTP/1.1",
                "Host: HERE",
                "Sec-Fetch-Site: cross-site",
                json,
            ],
            INITIALIZE,
            "403",
        ),
        (
            &[
                "GET /metrics HTTP/1.1",
                "Host: HERE",
                "Sec-Fetch-Site: cross-site",
            ],
            "",
            "403",
        ),
        (
            &[
                "GET /v1/tokens HTTP/1.1",
                "Host: HERE",
                "Sec-Fetch-Site: cross-site",
            ],
            "",
            "403",
        ),
        (
            &["POST /v1/retrieve HTTP/1.1", "Host: HERE", json],
            INTENT,
            "200",
        ),
        // As sent by curl, and by a page on this machine.
        (
            &[
                "POST /v1/retrieve HTTP/1.1",
                "Host: HERE",
                "Content-Type: application/x-www-form-urlencoded",
            ],
            INTENT,
            "200",
        ),
        (
            &[
                "POST /v1/retrieve HTTP/1.1",
                "Host: HERE",
                "Origin: http://localhost:3000",
                "Content-Type: application/x-www-form-urlencoded",
            ],
            INTENT,
            "415",
        ),
    ];
    for (lines, body, expected) in cases {
        assert_eq!(status(&gateway, lines, body).await, expected, "{lines:?}");
    }
}
