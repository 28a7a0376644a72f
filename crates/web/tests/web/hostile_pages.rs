//! A page reaches nothing private, however it tries.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::response::{Html, Redirect};
use axum::routing::get;
use kitbag_fetch::AddressGuard;
use kitbag_web::{Browser, BrowserSettings, Screenshot, ScreenshotRequest};
use tokio::net::UdpSocket;

use crate::browser::{pixels, settings};
use crate::site;

/// Requests `PRIVATE` in every way available to a page, and turns green when done.
const CURIOUS: &str = "<!doctype html><link rel=preconnect href=https://PRIVATE>
    <link rel=dns-prefetch href=//PRIVATE><link rel=prefetch href=https://PRIVATE/prefetch>
    <link rel=stylesheet href=https://PRIVATE/style><script async src=https://PRIVATE/script></script>
    <body><img src=https://PRIVATE/image><img src=http://PRIVATE/image><iframe src=https://PRIVATE/frame></iframe>
    <iframe src=http://PRIVATE/frame></iframe><object data=https://PRIVATE/object></object>
    <video src=https://PRIVATE/video></video><script>
    const end = what => new Promise(done => { what.onerror = what.onclose = what.onopen = done; });
    const tries = [
        () => fetch('https://PRIVATE/', { mode: 'no-cors' }),
        () => fetch('http://PRIVATE/', { mode: 'no-cors' }),
        () => fetch('/redirect', { mode: 'no-cors' }),
        () => end(new WebSocket('wss://PRIVATE/')),
        () => end(new WebSocket('ws://PRIVATE/')),
        () => { const source = new EventSource('https://PRIVATE/'); return end(source).then(() => source.close()); },
        () => navigator.sendBeacon('https://PRIVATE/beacon'),
        () => new WebTransport('https://PRIVATE/').ready,
        () => new Worker(URL.createObjectURL(new Blob(['importScripts(\"https://PRIVATE/w\")']))),
        () => {
            const urls = ['stun:PRIVATE', 'turn:PRIVATE?transport=udp', 'turn:PRIVATE?transport=tcp'];
            const peer = new RTCPeerConnection({ iceServers: [{ urls, username: 'u', credential: 'c' }] });
            peer.createDataChannel('x');
            return peer.createOffer().then(offer => peer.setLocalDescription(offer));
        },
    ];
    // Does not wait for a request that is neither answered nor rejected.
    const patience = new Promise(done => setTimeout(done, 1000));
    const all = Promise.allSettled(tries.map(async attempt => attempt()));
    Promise.race([all, patience]).then(() => { document.body.style.background = 'green'; });
    </script>";

struct Visits {
    tcp: Arc<AtomicUsize>,
    udp: UdpSocket,
}

impl Visits {
    fn over_tcp(&self) -> usize {
        self.tcp.load(Ordering::Relaxed)
    }

    fn over_udp(&self) -> usize {
        let mut packet = [0; 2048];
        std::iter::from_fn(|| self.udp.try_recv(&mut packet).ok()).count()
    }
}

/// Takes a screenshot of the page that requests the host, and returns the visits to the private
/// port.
async fn visits(host: &str, guard: AddressGuard) -> (Screenshot, Visits) {
    let (private, tcp) = site::private_port().await;
    let udp = UdpSocket::bind(private).await.unwrap();
    let private = format!("{host}:{}", private.port());
    let (page, target) = (
        CURIOUS.replace("PRIVATE", &private),
        format!("https://{private}/"),
    );
    let router = Router::new()
        .route("/", get(|| async { Html(page) }))
        .route(
            "/redirect",
            get(move || async move { Redirect::to(&target) }),
        );
    let address = site::serve(router).await;
    let browser = Browser::new(BrowserSettings {
        guard,
        ..settings()
    });
    let request = ScreenshotRequest::new(format!("https://{address}/"));
    let wait = std::time::Duration::from_secs(1);
    let picture = browser
        .screenshot(ScreenshotRequest { wait, ..request })
        .await;
    (picture.unwrap(), Visits { tcp, udp })
}

#[tokio::test]
async fn a_page_reaches_nothing_private_by_any_kind_of_request() {
    for host in ["127.0.0.1", "localhost"] {
        let (picture, visits) = visits(host, site::guard()).await;
        assert_eq!(pixels(&picture).at(1200, 700), [0, 128, 0], "{host}");
        assert_eq!((visits.over_tcp(), visits.over_udp()), (0, 0), "{host}");
        let reason = format!("{host}: 127.0.0.1 is private");
        assert!(picture.refused.contains(&reason), "{:?}", picture.refused);
        assert!(picture.refused.contains(&format!(
            "{host}: the request is not encrypted, but only https is allowed"
        )));
    }
}

#[tokio::test]
async fn the_same_page_reaches_an_address_that_is_allowed_but_never_past_the_proxy() {
    let (_, visits) = visits("127.0.0.1", site::open_guard()).await;
    assert!(visits.over_tcp() > 3, "{}", visits.over_tcp());
    assert_eq!(visits.over_udp(), 0);
}

/// Takes a screenshot of a page with this body, on a site that also has a page `/green`, and
/// returns the colour in the middle; none if there is no picture.
async fn colour(body: String) -> Option<[u8; 3]> {
    let page = format!("<!doctype html><body style=\"margin:0\">{body}");
    let router = Router::new()
        .route("/", get(move || async move { Html(page) }))
        .route("/green", get(|| async { Html(GREEN_PAGE) }));
    let address = site::serve(router).await;
    let browser = Browser::new(settings());
    let request = ScreenshotRequest::new(format!("https://{address}/"));
    let picture = browser.screenshot(request).await.ok()?;
    Some(pixels(&picture).at(640, 360))
}

const GREEN_PAGE: &str = "<!doctype html><body style=\"background:rgb(0, 128, 0)\">";

#[tokio::test]
async fn a_page_shows_no_file_of_this_machine() {
    const FILL: &str = "style=\"position:fixed;width:100%;height:100%;border:0\"";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("green.html");
    std::fs::write(&path, GREEN_PAGE).unwrap();
    let file = format!("file://{}", path.display());
    let frame = |src: &str| format!("<iframe {FILL} src=\"{src}\"></iframe>");
    assert_eq!(colour(frame("/green")).await, Some([0, 128, 0]));
    for body in [
        frame(&file),
        frame(&format!("view-source:{file}")),
        frame(&format!("blob:{file}")),
        format!("<object {FILL} data=\"{file}\"></object>"),
        format!("<embed {FILL} src=\"{file}\">"),
        format!("<link rel=stylesheet href=\"{file}\"><script src=\"{file}\"></script>"),
        format!("<meta http-equiv=refresh content=\"0;url={file}\">"),
        format!("<script>location = '{file}'</script>"),
        format!("<script>open('{file}', '_self')</script>"),
        format!("<a id=a href=\"{file}\"></a><script>a.click()</script>"),
        format!("<form id=f action=\"{file}\"></form><script>f.submit()</script>"),
        format!(
            "<script>fetch('{file}').then(it => it.text()).then(it => document.write(it))</script>"
        ),
    ] {
        assert_ne!(colour(body.clone()).await, Some([0, 128, 0]), "{body}");
    }
}

#[tokio::test]
async fn a_page_that_leads_to_a_private_address_is_rejected() {
    let (private, visits) = site::private_port().await;
    let port = private.port();
    let there = format!("https://localhost:{port}/");
    let script = format!("<script>location = '{there}'</script>");
    let router = Router::new()
        .route(
            "/redirect",
            get(move || async move { Redirect::to(&there) }),
        )
        .route("/script", get(move || async move { Html(script) }));
    let site = format!("https://{}", site::serve(router).await);
    let browser = Browser::new(settings());
    for url in [
        format!("https://127.0.0.1:{port}/"),
        format!("https://[::1]:{port}/"),
        format!("https://localhost:{port}/"),
        format!("{site}/redirect"),
        format!("{site}/script"),
    ] {
        let error = browser.screenshot(ScreenshotRequest::new(&url)).await;
        let error = error.unwrap_err().to_string();
        assert!(
            error.contains("is not an allowed destination"),
            "{url}: {error}"
        );
    }
    assert_eq!(visits.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn a_name_that_leads_elsewhere_the_second_time_is_judged_again() {
    let (private, visits) = site::private_port().await;
    let addresses = tokio::net::lookup_host(("localhost", 0))
        .await
        .unwrap()
        .count();
    let lookups = AtomicUsize::new(0);
    let guard: AddressGuard = Arc::new(move |address: IpAddr| {
        // The addresses look public when the name is resolved for the first time.
        match lookups.fetch_add(1, Ordering::Relaxed) < addresses {
            true => Ok(()),
            false => Err(format!("{address} is private")),
        }
    });
    let browser = Browser::new(BrowserSettings {
        guard,
        ..settings()
    });
    let url = format!("https://localhost:{}/", private.port());
    let error = browser.screenshot(ScreenshotRequest::new(url)).await;
    assert!(error.unwrap_err().to_string().contains("is private"));
    assert_eq!(visits.load(Ordering::Relaxed), 0);
}
