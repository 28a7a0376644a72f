//! Many clients at once on the default surface: each searches, calls a result, and starts over.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde_json::{Value, json};
use xtask::cargo;
use xtask::processes::Memory;
use xtask::repository::{Profile, Repository};
use xtask::scene::{self, Era, Gateway};

use crate::catalog::{self, Upstreams};
use crate::load::{self, Crowd, Endpoint};
use crate::options::Options;
use crate::peer::wait_until_embedded;
use crate::{sets, table};

pub(crate) fn run(repository: &Repository, arguments: &[&str]) -> anyhow::Result<()> {
    let options = Options::parse("clients", arguments)?;
    let build = [
        "build",
        "--release",
        "-p",
        "kitbag",
        "-p",
        "kitbag-testbed",
        "-p",
        "kitbag-bench-load",
    ];
    cargo::run(repository, &build)?;
    let mut rows = Vec::new();
    for era in [Era::Legacy, Era::Modern] {
        rows.extend(measure(repository, options.data.as_deref(), era)?);
    }
    if options.json {
        let rows: Vec<Value> = rows.iter().map(Row::json).collect();
        println!("{}", serde_json::to_string_pretty(&rows)?);
    } else {
        let head = [
            "era",
            "clients",
            "errors",
            "searches/s",
            "search p50",
            "search p99",
            "call p50",
            "call p99",
            "MiB",
            "peak MiB",
        ];
        let head = vec![head.map(str::to_owned).to_vec()];
        table::print(
            &head
                .into_iter()
                .chain(rows.iter().map(Row::cells))
                .collect::<Vec<_>>(),
        );
    }
    let failed: Vec<_> = rows
        .iter()
        .filter_map(|row| row.crowd.first_error.as_deref())
        .collect();
    if let Some(first) = failed.first() {
        bail!("not every call was answered: {first}");
    }
    Ok(())
}

/// Uses a gateway per era, so that its memory is caused by these clients.
fn measure(repository: &Repository, data: Option<&Path>, era: Era) -> anyhow::Result<Vec<Row>> {
    let folder = repository.scratch(&format!("bench-clients-{era}"))?;
    let tools = catalog::read(&sets::tool_folders(repository, data)?)?;
    let upstreams = Upstreams::start(repository, &folder, &tools)?;
    let (testbed, url) = scene::start_testbed(repository, Profile::Release, &folder, era)?;
    let own = format!("[servers.{}]\n{}\n", scene::NAME, scene::http_section(&url));
    let sections = format!("{own}{}", upstreams.sections());
    let gateway = Gateway::start_with_sections(repository, Profile::Release, &folder, &sections)?;
    let queries = queries(repository, data, &folder)?;
    let endpoint = Endpoint {
        url: format!("{}/mcp", gateway.origin),
        tool: Some(format!("{}__echo", scene::NAME)),
        era,
    };
    wait_until_embedded(&gateway.origin, tools.len())?;
    let rows = CLIENTS.map(|clients| {
        eprintln!("{era}: {clients} clients search and call for {SECONDS} s");
        let crowd = load::search_and_call(repository, &endpoint, clients, SECONDS, &queries)?;
        Ok(Row {
            era,
            clients,
            crowd,
            memory: gateway.process.memory()?,
        })
    });
    let rows = rows.into_iter().collect();
    drop((testbed, upstreams));
    rows
}

/// Writes the queries of the sets, one per line.
pub(crate) fn queries(
    repository: &Repository,
    data: Option<&Path>,
    folder: &Path,
) -> anyhow::Result<PathBuf> {
    let case = sets::most_real(repository, data);
    let lines = catalog::lines(&case.dataset.join("queries.jsonl"))?;
    let texts = lines.iter().filter_map(|line| line["query"].as_str());
    let path = folder.join("queries.txt");
    fs::write(
        &path,
        texts
            .map(|it| it.replace('\n', " ") + "\n")
            .collect::<String>(),
    )
    .with_context(|| format!("writing {}", path.display()))?;
    Ok(path)
}

#[derive(Debug)]
struct Row {
    era: Era,
    clients: usize,
    crowd: Crowd,
    memory: Memory,
}

impl Row {
    fn json(&self) -> Value {
        let Self {
            era,
            clients,
            crowd,
            memory,
        } = self;
        json!({
            "era": era.to_string(),
            "clients": clients,
            "errors": crowd.errors,
            "searches_per_second": crowd.searches.per_second,
            "search_us": { "p50": crowd.searches.p50_us, "p99": crowd.searches.p99_us },
            "call_us": { "p50": crowd.calls.p50_us, "p99": crowd.calls.p99_us },
            "memory_kib": memory.now_kib,
            "memory_peak_kib": memory.peak_kib,
        })
    }

    fn cells(&self) -> Vec<String> {
        let Self {
            era,
            clients,
            crowd,
            memory,
        } = self;
        let ms = |us: f64| format!("{:.1} ms", us / 1e3);
        let mib = |kib: u64| format!("{:.0}", kib as f64 / 1024.0);
        vec![
            era.to_string(),
            clients.to_string(),
            crowd.errors.to_string(),
            format!("{:.0}", crowd.searches.per_second),
            ms(crowd.searches.p50_us),
            ms(crowd.searches.p99_us),
            ms(crowd.calls.p50_us),
            ms(crowd.calls.p99_us),
            mib(memory.now_kib),
            mib(memory.peak_kib),
        ]
    }
}

const CLIENTS: [usize; 3] = [1, 100, 1000];
const SECONDS: f64 = 10.0;
