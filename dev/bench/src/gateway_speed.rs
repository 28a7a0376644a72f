//! Measures the real binary in front of real tools: indexing time, searches per second and memory.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::{Value, json};
use xtask::processes;
use xtask::repository::{Profile, Repository};
use xtask::scene::Gateway;

use crate::catalog::{Tool, Upstreams};
use crate::clients;
use crate::http::Connection;
use crate::load::{self, Sample};
use crate::peer::wait_until_all;
use crate::table;

/// The figures of the real binary.
#[derive(Debug)]
pub(crate) struct GatewaySpeed {
    some: usize,
    from_nothing: Duration,
    from_store: Duration,
    alone: Sample,
    at_once: Sample,
    many: usize,
    memory_kib: u64,
}

impl GatewaySpeed {
    pub(crate) fn measure(
        repository: &Repository,
        data: Option<&Path>,
        tools: &[Tool],
    ) -> anyhow::Result<Self> {
        let folder = repository.scratch("bench-speed")?;
        let some = &tools[..tools.len().min(5_000)];
        let many = &tools[..tools.len().min(10_000)];
        eprintln!("indexing {} tools from nothing", some.len());
        let upstreams = Upstreams::start(repository, &folder, some)?;
        let config = Config {
            repository,
            folder: &folder,
        };
        config.write(&upstreams)?;
        let from_nothing = config.build_index()?;
        let (gateway, from_store) = config.serve(&upstreams, some.len())?;
        let queries = clients::queries(repository, data, &folder)?;
        let [alone, at_once] = [1, CLIENTS].map(|clients| {
            eprintln!("{clients} clients search for {SECONDS} s");
            let url = format!("{}/mcp", gateway.origin);
            load::searches(repository, url, clients, SECONDS, &queries)
        });
        drop((gateway, upstreams));
        eprintln!("indexing {} tools and serving them", many.len());
        let upstreams = Upstreams::start(repository, &folder, many)?;
        config.write(&upstreams)?;
        config.build_index()?;
        let (gateway, _) = config.serve(&upstreams, many.len())?;
        let memory_kib = gateway.process.memory()?.now_kib;
        Ok(Self {
            some: some.len(),
            from_nothing,
            from_store,
            alone: alone?,
            at_once: at_once?,
            many: many.len(),
            memory_kib,
        })
    }

    pub(crate) fn json(&self) -> Value {
        json!({
            "tools": self.some,
            "from_nothing_s": self.from_nothing.as_secs_f64(),
            "from_store_s": self.from_store.as_secs_f64(),
            "searches_alone": searches_json(&self.alone),
            "searches_at_once": searches_json(&self.at_once),
            "served_tools": self.many,
            "served_resident_kib": self.memory_kib,
        })
    }

    pub(crate) fn print(&self) {
        let seconds = |it: Duration| format!("{:.2} s", it.as_secs_f64());
        let row =
            |what: String, measured: String, wanted: &str| vec![what, measured, wanted.to_owned()];
        table::print(&[
            row("what".to_owned(), "measured".to_owned(), "wanted"),
            row(
                format!("{} tools from nothing", self.some),
                seconds(self.from_nothing),
                "12 s",
            ),
            row(
                format!("{} tools from the store", self.some),
                seconds(self.from_store),
                "1 s",
            ),
            row(
                format!("searches of {CLIENTS} clients among {} tools", self.some),
                searches_text(&self.at_once),
                "600 a second",
            ),
            row(
                "searches of one client".to_owned(),
                searches_text(&self.alone),
                "",
            ),
            row(
                format!("resident with {} tools", self.many),
                format!("{:.0} MB", self.memory_kib as f64 * 1.024e-3),
                "300 MB",
            ),
        ]);
    }
}

fn searches_json(sample: &Sample) -> Value {
    json!({
        "per_second": sample.per_second,
        "us": { "p50": sample.p50_us, "p99": sample.p99_us },
    })
}

fn searches_text(sample: &Sample) -> String {
    format!(
        "{:.0} a second, p50 {:.1} ms, p99 {:.1} ms",
        sample.per_second,
        sample.p50_us / 1e3,
        sample.p99_us / 1e3
    )
}

/// The concurrent clients.
const CLIENTS: usize = 1_000;
const SECONDS: f64 = 10.0;

#[derive(Debug)]
struct Config<'a> {
    repository: &'a Repository,
    folder: &'a Path,
}

impl Config<'_> {
    fn write(&self, upstreams: &Upstreams) -> anyhow::Result<()> {
        let path = self.folder.join("kitbag.toml");
        fs::write(&path, upstreams.sections())
            .with_context(|| format!("writing {}", path.display()))
    }

    fn build_index(&self) -> anyhow::Result<Duration> {
        let mut command = Command::new(self.repository.program_path(Profile::Release, "kitbag"));
        command.arg("--config").arg(self.folder.join("kitbag.toml"));
        command
            .arg("--data-dir")
            .arg(self.folder.join("data"))
            .args(["index", "build"]);
        let start = Instant::now();
        processes::run(&mut command)?;
        Ok(start.elapsed())
    }

    /// Starts a gateway with all vectors, and measures how long that took.
    fn serve(&self, upstreams: &Upstreams, tools: usize) -> anyhow::Result<(Gateway, Duration)> {
        let start = Instant::now();
        let gateway = Gateway::start_with_sections(
            self.repository,
            Profile::Release,
            self.folder,
            &upstreams.sections(),
        )?;
        let mut connection = Connection::open(&gateway.origin)?;
        let ready = wait_until_all(&mut connection, "embedded", tools, start)?;
        Ok((gateway, ready))
    }
}
