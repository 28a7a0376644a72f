//! Paths that would lead above the vendor's URL.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::Proxied;
use crate::harness::Gateway;

/// Sends the exact path; a client would normalize it first.
async fn status(gateway: &Gateway, path: &str) -> String {
    let address = gateway.base.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    let answer = String::from_utf8_lossy(&answer).into_owned();
    answer.split(' ').nth(1).unwrap_or_default().to_owned()
}

#[tokio::test]
async fn no_spelling_of_two_dots_reaches_a_vendor() {
    let proxied = Proxied::with("").await;
    for vendor in ["anthropic", "openai"] {
        let fine = format!("/{vendor}/v1/models?after=..%2f");
        assert_eq!(status(&proxied.gateway, &fine).await, "200");
        let before = proxied.vendor.last().uri;
        for up in [
            "v1/../x",
            "v1/%2e%2E/x",
            "v1/..%2f..%2fadmin",
            "v1%2F..%2Fx",
            "\\..\\x",
            "v1/%5c..%5C/x",
            "v1/%252e%252e/x",
            "v1/%25252e%25252e/x",
            "v1/..;x/y",
            "v1/..%3b/y",
            "v1/..%00/y",
            "v1/%c0%ae%c0%ae/y",
        ] {
            let path = format!("/{vendor}/{up}");
            assert_eq!(status(&proxied.gateway, &path).await, "400", "{path}");
        }
        assert_eq!(
            proxied.vendor.last().uri,
            before,
            "nothing else has arrived"
        );
    }
}
