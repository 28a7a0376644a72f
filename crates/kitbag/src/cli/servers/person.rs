//! The person who logs in: with a browser on this machine, or with one somewhere else.

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

/// The person's browser comes back to us by itself.
pub(in crate::cli) struct AtBrowser {
    output: Output,
    listener: Option<TcpListener>,
    waiting: Option<ProgressDisplay>,
}

/// The person's browser comes back to a machine where no program listens, and the person tells us
/// the address that it came back to.
pub(in crate::cli) struct Elsewhere {
    output: Output,
    waiting: Option<ProgressDisplay>,
}

impl AtBrowser {
    pub(in crate::cli) fn new(output: Output) -> Self {
        Self {
            output,
            listener: None,
            waiting: None,
        }
    }
}

impl Elsewhere {
    pub(in crate::cli) fn new(output: Output) -> Self {
        Self {
            output,
            waiting: None,
        }
    }
}

#[async_trait]
impl Person for AtBrowser {
    async fn redirect(&mut self, port: RedirectPort) -> Result<Url, LoginError> {
        let listener = listen(port).await?;
        let url = address(&listener)?;
        self.listener = Some(listener);
        Ok(url)
    }

    async fn browse(&mut self, url: &Url) -> Result<String, LoginError> {
        let listener = self
            .listener
            .take()
            .expect("the way back was asked for first");
        if open(url) {
            tell(&format!(
                "Your browser should open now. If it does not, go to\n\n  {url}\n"
            ));
        } else {
            tell(&format!(
                "Go to\n\n  {url}\n\nwith a browser on this machine; for one elsewhere, use --headless.\n"
            ));
        }
        let answered = tokio::time::timeout(PATIENCE, answer(listener, url));
        let answered = self
            .output
            .with_progress("Waiting for the browser to come back", answered)
            .await;
        answered.unwrap_or(Err(LoginError::TooLate))
    }

    fn is_elsewhere(&self) -> bool {
        false
    }

    fn show(&mut self, code: &DeviceCode) {
        show(code);
        self.waiting = Some(self.output.progress(WAITING_FOR_THE_CODE));
    }
}

#[async_trait]
impl Person for Elsewhere {
    /// Kitbag will not listen there; a free port only makes sure that no other program does.
    async fn redirect(&mut self, port: RedirectPort) -> Result<Url, LoginError> {
        match port {
            RedirectPort::Rather(port) | RedirectPort::Only(port) => Ok(callback(port)),
            RedirectPort::Any => address(&listen(port).await?),
        }
    }

    async fn browse(&mut self, url: &Url) -> Result<String, LoginError> {
        tell(&format!(
            "Go to\n\n  {url}\n\nIn the end the browser shows an address that begins with \
             http://127.0.0.1\nand that it cannot open. Paste that address here, and press Enter:"
        ));
        let mut line = String::new();
        let read = BufReader::new(tokio::io::stdin())
            .read_line(&mut line)
            .await;
        match read {
            Ok(1..) => Ok(line),
            Ok(0) => Err(LoginError::NoCode),
            Err(error) => Err(LoginError::Person {
                reason: format!("stdin cannot be read: {error}"),
            }),
        }
    }

    fn is_elsewhere(&self) -> bool {
        true
    }

    fn show(&mut self, code: &DeviceCode) {
        show(code);
        self.waiting = Some(self.output.progress(WAITING_FOR_THE_CODE));
    }
}

async fn listen(port: RedirectPort) -> Result<TcpListener, LoginError> {
    let bound = match port {
        RedirectPort::Only(port) => bind(port).await,
        RedirectPort::Any => bind(0).await,
        RedirectPort::Rather(port) => match bind(port).await {
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
            reason: format!("port {port} of this machine cannot be used: {error}"),
        }
    })
}

async fn bind(port: u16) -> io::Result<TcpListener> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await
}

fn address(listener: &TcpListener) -> Result<Url, LoginError> {
    let bound = listener.local_addr();
    let bound = bound.map_err(|error| LoginError::Person {
        reason: error.to_string(),
    })?;
    Ok(callback(bound.port()))
}

fn callback(port: u16) -> Url {
    Url::parse(&format!("http://127.0.0.1:{port}/callback")).expect("it is an address")
}

/// Waits for the browser to come back from this request, and shows it a page that says that all is well.
async fn answer(listener: TcpListener, request: &Url) -> Result<String, LoginError> {
    let (came, mut coming) = mpsc::channel::<String>(1);
    let visit = Callback {
        state: parameter(request.query(), "state"),
        came,
    };
    let router = Router::new()
        .route("/callback", get(page))
        .layer(Extension(visit));
    let done = CancellationToken::new();
    let serving =
        axum::serve(listener, router).with_graceful_shutdown(done.clone().cancelled_owned());
    let serving = tokio::spawn(serving.into_future());
    let answer = coming.recv().await;
    done.cancel();
    // The page should be on its way before this program ends.
    let _ = tokio::time::timeout(Duration::from_secs(1), serving).await;
    answer.ok_or(LoginError::NoCode)
}

#[derive(Clone)]
struct Callback {
    /// The value that only this login has.
    state: Option<String>,
    came: mpsc::Sender<String>,
}

/// Every web page and every program of this machine can come here, and must not end the login: only the
/// authorization server knows the state.
async fn page(
    Extension(callback): Extension<Callback>,
    uri: Uri,
) -> (StatusCode, Html<&'static str>) {
    if parameter(uri.query(), "state") != callback.state {
        return (StatusCode::BAD_REQUEST, Html(OTHER_LOGIN));
    }
    // The browser may come more than once; the first time counts.
    let _again = callback.came.try_send(uri.to_string());
    (StatusCode::OK, Html(PAGE))
}

fn parameter(query: Option<&str>, name: &str) -> Option<String> {
    let mut fields = url::form_urlencoded::parse(query.unwrap_or_default().as_bytes());
    let (_, value) = fields.find(|(key, _)| key == name)?;
    Some(value.into_owned())
}

const OTHER_LOGIN: &str = "<!doctype html><meta charset=utf-8><title>Kitbag</title>\
    <p style=\"font:1.2em sans-serif;margin:4em\">This answer does not belong to the login that waits in the terminal.";
const PAGE: &str = "<!doctype html><meta charset=utf-8><title>Kitbag</title>\
    <p style=\"font:1.2em sans-serif;margin:4em\">Thank you. You can close this page; the terminal says how it went.";

/// True if there was a browser to open the address with.
fn open(url: &Url) -> bool {
    let Some((program, arguments)) = browser() else {
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

fn browser() -> Option<(String, &'static [&'static str])> {
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

fn show(code: &DeviceCode) {
    let direct = code.verification_uri_complete.as_ref();
    let direct = direct
        .map(|url| format!("\n\nor directly to\n\n  {url}"))
        .unwrap_or_default();
    tell(&format!(
        "Go to\n\n  {}\n\nand type in the code\n\n  {}{direct}\n",
        code.verification_uri, code.user_code
    ));
}

/// Programs that ask for JSON need to know the text too, so it goes to stderr.
fn tell(text: &str) {
    let _unheard = writeln!(stderr(), "{}", strip_controls(text));
}

const WAITING_FOR_THE_CODE: &str = "Waiting until the code is typed in";
const PATIENCE: Duration = Duration::from_secs(600);
