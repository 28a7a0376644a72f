//! The login dialog in the terminal, with a browser here or on another machine.

use std::io::{self, Write as _};
use std::net::Ipv4Addr;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use axum::response::Html;
use axum::routing::get;
use axum::{Extension, Router};
use http::{StatusCode, Uri};
use kitbag_upstream::oauth::{DeviceCode, LoginError, Person, RedirectPort, RedirectTarget};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::cli::output::{Output, stderr, strip_controls};
use crate::cli::progress::ProgressDisplay;

/// A browser on this machine, which is redirected to a local listener.
pub(in crate::cli) struct LocalBrowser {
    output: Output,
    listener: Option<RedirectListener>,
    waiting: Option<ProgressDisplay>,
}

/// Waits where the authorization server redirects the browser of one login.
pub(crate) struct RedirectListener {
    listener: TcpListener,
    url: Url,
}

/// A browser on another machine, where nothing listens; the user pastes the URL that it was
/// redirected to.
pub(in crate::cli) struct RemoteBrowser {
    output: Output,
    waiting: Option<ProgressDisplay>,
}

impl LocalBrowser {
    pub(in crate::cli) fn new(output: Output) -> Self {
        Self {
            output,
            listener: None,
            waiting: None,
        }
    }
}

impl RemoteBrowser {
    pub(in crate::cli) fn new(output: Output) -> Self {
        Self {
            output,
            waiting: None,
        }
    }
}

#[async_trait]
impl Person for LocalBrowser {
    async fn redirect(&mut self, target: &RedirectTarget) -> Result<Url, LoginError> {
        let listener = RedirectListener::bind(target).await?;
        let url = listener.url.clone();
        self.listener = Some(listener);
        Ok(url)
    }

    async fn browse(&mut self, url: &Url) -> Result<String, LoginError> {
        let listener = self.listener.take().expect("`redirect` is called first");
        if open_browser(url) {
            print_line(&format!(
                "Opening your browser. If it does not open, go to\n\n  {url}\n"
            ));
        } else {
            print_line(&format!(
                "In a browser on this machine, go to\n\n  {url}\n\nFor a browser on another machine, use --headless.\n"
            ));
        }
        let answered = listener.await_redirect(url);
        self.output
            .with_progress("Waiting for the login in the browser", answered)
            .await
    }

    fn is_elsewhere(&self) -> bool {
        false
    }

    fn show(&mut self, code: &DeviceCode) {
        show_code(code);
        self.waiting = Some(self.output.progress(WAITING_FOR_THE_CODE));
    }
}

#[async_trait]
impl Person for RemoteBrowser {
    /// Kitbag does not listen there; a free port only avoids other programs.
    async fn redirect(&mut self, target: &RedirectTarget) -> Result<Url, LoginError> {
        let port = match target.port {
            RedirectPort::Preferred(port) | RedirectPort::Only(port) => port,
            RedirectPort::Any => bound_port(&listen(target.port).await?)?,
        };
        Ok(target.url(port))
    }

    async fn browse(&mut self, url: &Url) -> Result<String, LoginError> {
        print_line(&format!(
            "Go to\n\n  {url}\n\nAfter the login, the browser fails to open an address that begins with\n\
             http://127.0.0.1. Copy that address, paste it here, and press Enter:"
        ));
        let mut line = String::new();
        let read = BufReader::new(tokio::io::stdin())
            .read_line(&mut line)
            .await;
        match read {
            Ok(1..) => Ok(line),
            Ok(0) => Err(LoginError::NoCode),
            Err(error) => Err(LoginError::Person {
                reason: format!("cannot read stdin: {error}"),
            }),
        }
    }

    fn is_elsewhere(&self) -> bool {
        true
    }

    fn show(&mut self, code: &DeviceCode) {
        show_code(code);
        self.waiting = Some(self.output.progress(WAITING_FOR_THE_CODE));
    }
}

async fn listen(port: RedirectPort) -> Result<TcpListener, LoginError> {
    let bound = match port {
        RedirectPort::Only(port) => bind(port).await,
        RedirectPort::Any => bind(0).await,
        RedirectPort::Preferred(port) => match bind(port).await {
            Ok(listener) => Ok(listener),
            Err(_taken) => bind(0).await,
        },
    };
    bound.map_err(|error| {
        let port = if let RedirectPort::Only(port) = port {
            port
        } else {
            0
        };
        LoginError::Person {
            reason: format!("cannot listen on port {port}: {error}"),
        }
    })
}

async fn bind(port: u16) -> io::Result<TcpListener> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await
}

fn bound_port(listener: &TcpListener) -> Result<u16, LoginError> {
    let bound = listener.local_addr();
    let bound = bound.map_err(|error| LoginError::Person {
        reason: error.to_string(),
    })?;
    Ok(bound.port())
}

impl RedirectListener {
    pub(crate) async fn bind(target: &RedirectTarget) -> Result<Self, LoginError> {
        let listener = listen(target.port).await?;
        let url = target.url(bound_port(&listener)?);
        Ok(Self { listener, url })
    }

    /// The URI to which the authorization server redirects.
    pub(crate) fn url(&self) -> &Url {
        &self.url
    }

    /// Waits until the browser comes back from this request, and answers it with a page.
    pub(crate) async fn await_redirect(self, request: &Url) -> Result<String, LoginError> {
        let answered = tokio::time::timeout(LOGIN_TIMEOUT, self.serve_redirect(request)).await;
        answered.unwrap_or(Err(LoginError::TooLate))
    }

    async fn serve_redirect(self, request: &Url) -> Result<String, LoginError> {
        let (sender, mut receiver) = mpsc::channel::<String>(1);
        let callback = Callback {
            path: self.url.path().into(),
            state: parameter(request.query(), "state"),
            sender,
        };
        let router = Router::new()
            .fallback_service(get(page))
            .layer(Extension(callback));
        let done = CancellationToken::new();
        let serving = axum::serve(self.listener, router)
            .with_graceful_shutdown(done.clone().cancelled_owned());
        let serving = tokio::spawn(serving.into_future());
        let answer = receiver.recv().await;
        done.cancel();
        // Send the page before the program exits.
        let _ = tokio::time::timeout(Duration::from_secs(1), serving).await;
        answer.ok_or(LoginError::NoCode)
    }
}

#[derive(Clone)]
struct Callback {
    /// The path of the redirect URI.
    path: Arc<str>,
    /// The state known only to this login.
    state: Option<String>,
    sender: mpsc::Sender<String>,
}

/// Any web page or local program can send requests here, but cannot end the login: only the
/// authorization server knows the state.
async fn page(
    Extension(callback): Extension<Callback>,
    uri: Uri,
) -> (StatusCode, Html<&'static str>) {
    let is_expected = uri.path() == &*callback.path;
    if parameter(uri.query(), "state") != callback.state {
        let status = match is_expected {
            true => StatusCode::BAD_REQUEST,
            false => StatusCode::NOT_FOUND,
        };
        return (status, Html(OTHER_LOGIN));
    }
    // The browser may repeat the request; the first one counts. An answer at another path ends the
    // login: another authorization server got this login's state.
    let _again = callback.sender.try_send(uri.to_string());
    match is_expected {
        true => (StatusCode::OK, Html(PAGE)),
        false => (StatusCode::BAD_REQUEST, Html(OTHER_LOGIN)),
    }
}

fn parameter(query: Option<&str>, name: &str) -> Option<String> {
    let mut fields = url::form_urlencoded::parse(query.unwrap_or_default().as_bytes());
    let (_, value) = fields.find(|(key, _)| key == name)?;
    Some(value.into_owned())
}

const OTHER_LOGIN: &str = "<!doctype html><meta charset=utf-8><title>Kitbag</title>\
    <p style=\"font:1.2em sans-serif;margin:4em\">This response does not belong to this login.";
const PAGE: &str = "<!doctype html><meta charset=utf-8><title>Kitbag</title>\
    <p style=\"font:1.2em sans-serif;margin:4em\">Done. You can close this page.";

/// Opens the URL in a browser; false if there is none.
fn open_browser(url: &Url) -> bool {
    let Some((program, arguments)) = browser_command() else {
        return false;
    };
    let mut command = Command::new(program);
    command.args(arguments).arg(url.as_str());
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.spawn().is_ok()
}

fn browser_command() -> Option<(String, &'static [&'static str])> {
    if let Some(chosen) = std::env::var("BROWSER").ok().filter(|it| !it.is_empty()) {
        return Some((chosen, &[]));
    }
    if cfg!(target_os = "macos") {
        return Some(("open".to_owned(), &[]));
    }
    if cfg!(windows) {
        return Some(("rundll32".to_owned(), &["url.dll,FileProtocolHandler"]));
    }
    let has_screen = ["DISPLAY", "WAYLAND_DISPLAY"]
        .iter()
        .any(|name| std::env::var_os(name).is_some());
    has_screen.then(|| ("xdg-open".to_owned(), [].as_slice()))
}

fn show_code(code: &DeviceCode) {
    let direct = code.verification_uri_complete.as_ref();
    let direct = direct
        .map(|url| format!("\n\nor open\n\n  {url}"))
        .unwrap_or_default();
    print_line(&format!(
        "Go to\n\n  {}\n\nand enter the code\n\n  {}{direct}\n",
        code.verification_uri, code.user_code
    ));
}

/// Prints to stderr, even with `--json`: the user needs the text in any case.
fn print_line(text: &str) {
    let _unheard = writeln!(stderr(), "{}", strip_controls(text));
}

const WAITING_FOR_THE_CODE: &str = "Waiting for the code to be entered";
const LOGIN_TIMEOUT: Duration = Duration::from_secs(600);
