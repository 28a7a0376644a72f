//! The web pages of a large gateway: the time and size of the first view of each, and the memory
//! of open ones.
//!
//! The gateway has ten thousand tools and a million audit rows. The first request of each page is
//! reported by itself: it finds no cache filled.

use std::io::Write as _;
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, bail, ensure};
use kitbag_domain::{
    CallCost, Caller, Capability, KeyId, Observation, Origin, Outcome, Purpose, Timestamp,
};
use kitbag_store::{AuditRecord, Store, StoreAddress};
use serde_json::{Value, json};
use xtask::cargo;
use xtask::processes::Server;
use xtask::repository::{Profile, Repository};
use xtask::scene::Gateway;

use crate::catalog::{Tool, Upstreams};
use crate::http::Connection;
use crate::options::Options;
use crate::peer::wait_until_embedded;
use crate::table;

const SERVERS: usize = 100;
const TOOLS_EACH: usize = 100;
const ROWS: usize = 1_000_000;
const ROWS_AT_ONCE: usize = 5_000;
/// The audit is kept for longer, so no row is deleted meanwhile.
const DAYS: i64 = 30;
const DAY_MS: i64 = 24 * 60 * 60 * 1000;
const REQUESTS: usize = 20;
const OPEN_PAGES: usize = 100;
/// The server time of each request, and the memory of each open page.
const TIME_GOAL: Duration = Duration::from_millis(300);
const MEMORY_GOAL_KIB: f64 = 2048.0;

/// The first view of each section, of one tool, and of lists with a filter.
fn paths() -> Vec<(&'static str, String)> {
    let tool = format!("{}__{}", server_name(7), tool_name(42));
    let server = server_name(7);
    [
        ("overview", "/ui".to_owned()),
        (
            "search",
            "/ui/search?q=send+an+invoice+to+a+customer".to_owned(),
        ),
        ("tools", "/ui/tools".to_owned()),
        ("one tool", format!("/ui/tools/{tool}")),
        ("servers", "/ui/servers".to_owned()),
        ("one server", format!("/ui/servers/{server}")),
        ("calls", "/ui/calls".to_owned()),
        ("calls of a tool", format!("/ui/calls?tool={tool}")),
        ("failed calls", "/ui/calls?outcome=tool_error".to_owned()),
        ("code", "/ui/code".to_owned()),
        ("learned", "/ui/learned".to_owned()),
        ("access", "/ui/access".to_owned()),
        ("feedback", "/ui/feedback".to_owned()),
        ("agents", "/ui/agents".to_owned()),
    ]
    .into()
}

pub(crate) fn run(repository: &Repository, arguments: &[&str]) -> anyhow::Result<()> {
    let options = Options::parse("pages", arguments)?;
    cargo::run(
        repository,
        &["build", "--release", "-p", "kitbag", "-p", "kitbag-testbed"],
    )?;
    let folder = repository.scratch("bench-pages")?;
    eprintln!("writing {ROWS} audit rows");
    tokio::runtime::Runtime::new()?.block_on(write_rows(&folder))?;
    eprintln!("indexing {} tools", SERVERS * TOOLS_EACH);
    let upstreams = Upstreams::start(repository, &folder, &tools())?;
    let sections = format!("{}{}", store_section(&folder), upstreams.sections());
    let gateway = Gateway::start_with_sections(repository, Profile::Release, &folder, &sections)?;
    wait_until_embedded(&gateway.origin, SERVERS * TOOLS_EACH)?;
    let pages: Vec<_> = paths()
        .into_iter()
        .map(|(name, path)| PageFigures::measure(&gateway.origin, name, path))
        .collect::<anyhow::Result<_>>()?;
    let kib_each = memory_of_open_pages(&gateway.process, &gateway.origin)?;
    if options.json {
        let pages: Vec<_> = pages.iter().map(PageFigures::json).collect();
        let figures = json!({
            "tools": SERVERS * TOOLS_EACH, "audit_rows": ROWS,
            "pages": pages, "kib_per_open_page": kib_each,
        });
        println!("{}", serde_json::to_string_pretty(&figures)?);
    } else {
        print(&pages, kib_each);
    }
    let slow = pages
        .iter()
        .find(|page| page.first.max(page.max) > TIME_GOAL);
    if let Some(slow) = slow {
        bail!("{} took longer than {TIME_GOAL:?}", slow.name);
    }
    ensure!(
        kib_each <= MEMORY_GOAL_KIB,
        "an open page takes {kib_each:.0} KiB"
    );
    Ok(())
}

struct PageFigures {
    name: &'static str,
    path: String,
    first: Duration,
    p50: Duration,
    max: Duration,
    bytes: usize,
}

impl PageFigures {
    /// Measures until the last byte has arrived over a connection that is open already.
    fn measure(origin: &str, name: &'static str, path: String) -> anyhow::Result<Self> {
        let mut connection = Connection::open(origin)?;
        let mut bytes = 0;
        let mut took = Vec::with_capacity(REQUESTS + 2);
        for _ in 0..REQUESTS + 2 {
            let begin = Instant::now();
            let answer = connection.get(&path)?;
            took.push(begin.elapsed());
            ensure!(answer.status == 200, "{path} answered {}", answer.status);
            bytes = answer.body_length();
        }
        // The first is reported by itself, and the second warms up.
        let first = took[0];
        let mut later = took.split_off(2);
        later.sort_unstable();
        let (p50, max) = (later[REQUESTS / 2], later[REQUESTS - 1]);
        Ok(Self {
            name,
            path,
            first,
            p50,
            max,
            bytes,
        })
    }

    fn json(&self) -> Value {
        let ms = |it: Duration| it.as_secs_f64() * 1000.0;
        json!({
            "page": self.name, "path": self.path, "bytes": self.bytes,
            "ms": { "first": ms(self.first), "p50": ms(self.p50), "max": ms(self.max) },
        })
    }
}

/// Returns the growth of the resident memory by each page that is open, in KiB.
fn memory_of_open_pages(process: &Server, origin: &str) -> anyhow::Result<f64> {
    let before = process.memory()?.now_kib;
    let mut streams = Vec::with_capacity(OPEN_PAGES);
    for _ in 0..OPEN_PAGES {
        // What a browser does: it asks for the page, then for its events.
        let mut page = Connection::open(origin)?;
        page.get("/ui")?;
        streams.push((page, open_events(origin)?));
    }
    let after = process.memory()?.now_kib;
    Ok(after.saturating_sub(before) as f64 / OPEN_PAGES as f64)
}

/// Opens the stream of events and waits for the head of its answer.
fn open_events(origin: &str) -> anyhow::Result<TcpStream> {
    let address = origin.trim_start_matches("http://");
    let mut stream = TcpStream::connect(address)?;
    let request = format!("GET /ui/events HTTP/1.1\r\nhost: {address}\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut head = [0; 15];
    std::io::Read::read_exact(&mut stream, &mut head).context("reading the head of the events")?;
    ensure!(
        &head == b"HTTP/1.1 200 OK",
        "the events are {}",
        String::from_utf8_lossy(&head)
    );
    Ok(stream)
}

async fn write_rows(folder: &Path) -> anyhow::Result<()> {
    let store = Store::open(&StoreAddress::from(&store_path(folder))).await?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis() as i64;
    for from in (0..ROWS).step_by(ROWS_AT_ONCE) {
        let numbers = from..from + ROWS_AT_ONCE;
        let rows: Vec<_> = numbers.map(|number| row(number, now)).collect();
        store.record_all(&rows).await?;
    }
    store.close().await;
    Ok(())
}

/// Returns one call of many, evenly spread over the last days; one in twenty has failed.
fn row(number: usize, now: i64) -> AuditRecord {
    let age = DAYS * DAY_MS * (ROWS - number) as i64 / ROWS as i64;
    let tenant = format!("tenant-{}", number % 50);
    let caller = Caller::user(
        tenant.parse().expect("a name of a tenant"),
        KeyId(format!("{:08x}", number % 50)),
    );
    let server = server_name(number % SERVERS);
    let tool = tool_name(number / SERVERS % TOOLS_EACH);
    AuditRecord::Call(Observation {
        at: Timestamp(now - age),
        caller,
        client: None,
        origin: Origin::default(),
        purpose: Purpose::Use,
        capability: Capability::tool(server.parse().expect("a name of a server"), &tool),
        outcome: if number.is_multiple_of(20) {
            Outcome::ToolError
        } else {
            Outcome::Ok
        },
        latency: Duration::from_micros(500 + (number * 7919 % 200_000) as u64),
        cost: CallCost::default(),
        arguments: None,
    })
}

fn tools() -> Vec<Tool> {
    let numbers = (0..SERVERS).flat_map(|server| (0..TOOLS_EACH).map(move |tool| (server, tool)));
    let lines = numbers.map(|(server, tool)| {
        let (name, server) = (tool_name(tool), server_name(server));
        let description = format!(
            "{} for the {server} system. Returns the entry with all of its fields.",
            name.replace('_', " ")
        );
        Tool::from_line(&json!({
            "id": format!("{server}/{name}"), "server": server, "name": name, "description": description,
            "schema": { "type": "object", "required": ["id"], "properties": {
                "id": { "type": "string", "description": "The id of the entry" },
                "limit": { "type": "integer", "minimum": 1, "maximum": 100 },
            } },
        }))
    });
    lines.collect()
}

fn server_name(number: usize) -> String {
    format!("system{number}")
}

fn tool_name(number: usize) -> String {
    const VERBS: [&str; 10] = [
        "create", "read", "update", "delete", "list", "search", "send", "archive", "approve",
        "export",
    ];
    const OBJECTS: [&str; 10] = [
        "invoice", "customer", "order", "ticket", "document", "meeting", "message", "contract",
        "payment", "report",
    ];
    format!("{}_{}", VERBS[number % 10], OBJECTS[number / 10 % 10])
}

fn store_path(folder: &Path) -> std::path::PathBuf {
    folder.join("kitbag.db")
}

fn store_section(folder: &Path) -> String {
    format!("[store]\npath = '{}'\n\n", store_path(folder).display())
}

fn print(pages: &[PageFigures], kib_each: f64) {
    let head = ["page", "first", "p50", "max", "KiB"]
        .map(str::to_owned)
        .to_vec();
    let ms = |it: Duration| format!("{:.1} ms", it.as_secs_f64() * 1000.0);
    let rows = pages.iter().map(|page| {
        vec![
            page.name.to_owned(),
            ms(page.first),
            ms(page.p50),
            ms(page.max),
            format!("{:.1}", page.bytes as f64 / 1024.0),
        ]
    });
    table::print(&std::iter::once(head).chain(rows).collect::<Vec<_>>());
    println!("\n{kib_each:.0} KiB for each of {OPEN_PAGES} open pages");
}
