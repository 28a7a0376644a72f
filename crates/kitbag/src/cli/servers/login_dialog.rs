//! The login dialog in the terminal, with a browser here or on another machine.

use std::io::{self, Write as _};
use std::net::Ipv4Addr;
use std::process::{Command, Stdio};
use std::time::Duration;

use async_trait::async_trait;
use axum::response::Html;
use axum::routing::get;
use axum::{Extension, Router};
use http::{StatusCode, Uri};
use kitbag_upstream::oauth::{DeviceCode, LoginError, Person, RedirectPort};
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
    listener: Option<TcpListener>,
    waiting: Option<ProgressDisplay>,
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
    async fn redirect(&mut self, port: RedirectPort) -> Result<Url, LoginError> {
        let listener = listen(port).await?;
        let url = callback_url(&listener)?;
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
        let answered = await_browser(listener, url);
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
    async fn redirect(&mut self, port: RedirectPort) -> Result<Url, LoginError> {
        match port {
            RedirectPort::Preferred(port) | RedirectPort::Only(port) => Ok(callback(port)),
            RedirectPort::Any => callback_url(&listen(port).await?),
        }
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

pub(crate) async fn listen(port: RedirectPort) -> Result<TcpListener, LoginError> {
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

pub(crate) fn callback_url(listener: &TcpListener) -> Result<Url, LoginError> {
    let bound = listener.local_addr();
    let bound = bound.map_err(|error| LoginError::Person {
        reason: error.to_string(),
    })?;
    Ok(callback(bound.port()))
}

fn callback(port: u16) -> Url {
    Url::parse(&format!("http://127.0.0.1:{port}/callback")).expect("a valid URL")
}

/// Waits until the browser comes back from this request, for the time that a login may take.
pub(crate) async fn await_browser(
    listener: TcpListener,
    request: &Url,
) -> Result<String, LoginError> {
    let answered = tokio::time::timeout(LOGIN_TIMEOUT, await_redirect(listener, request)).await;
    answered.unwrap_or(Err(LoginError::TooLate))
}

/// Waits for the redirect of this request and answers it with a success page.
async fn await_redirect(listener: TcpListener, request: &Url) -> Result<String, LoginError> {
    let (sender, mut receiver) = mpsc::channel::<String>(1);
    let callback = Callback {
        state: parameter(request.query(), "state"),
        sender,
    };
    let router = Router::new()
        .route("/callback", get(page))
        .layer(Extension(callback));
    let done = CancellationToken::new();
    let serving =
        axum::serve(listener, router).with_graceful_shutdown(done.clone().cancelled_owned());
    let serving = tokio::spawn(serving.into_future());
    let answer = receiver.recv().await;
    done.cancel();
    // Send the page before the program exits.
    let _ = tokio::time::timeout(Duration::from_secs(1), serving).await;
    answer.ok_or(LoginError::NoCode)
}

#[derive(Clone)]
struct Callback {
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
    if parameter(uri.query(), "state") != callback.state {
        return (StatusCode::BAD_REQUEST, Html(OTHER_LOGIN));
    }
    // The browser may repeat the request; the first one counts.
    let _again = callback.sender.try_send(uri.to_string());
    (StatusCode::OK, Html(PAGE))
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
