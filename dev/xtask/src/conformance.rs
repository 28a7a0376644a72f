//! The official suite against the gateway, for each pair of eras, and against the upstream crate.

use std::fmt;
use std::path::Path;
use std::thread;

use anyhow::{Context, anyhow, bail};
use xtask::repository::{Profile, Repository};
use xtask::scene::{self, Era, Gateway, Transport, Upstream};
use xtask::{cargo, setup};

use crate::expected::{self, Difference};
use crate::results::{Failure, Scenario};
use crate::suite::{self, Side};

pub(crate) fn run(repository: &Repository, arguments: &[&str]) -> anyhow::Result<()> {
    let runs = choose_runs(arguments)?;
    setup::run(repository)?;
    cargo::build_programs(repository)?;
    let scratch = repository.scratch("conformance")?;
    let mut complaints = Vec::new();
    // All at once: the suite spends most of its time waiting.
    thread::scope(|scope| {
        let started: Vec<_> = runs
            .iter()
            .map(|run| scope.spawn(|| judge(repository, *run, &scratch)))
            .collect();
        for run in started {
            match run
                .join()
                .map_err(|_| anyhow!("a run of the suite panicked"))
                .flatten()
            {
                Ok(verdict) => {
                    println!("{verdict}");
                    complaints.extend(verdict.complaints);
                }
                Err(error) => complaints.push(format!("✗ {error:#}")),
            }
        }
    });
    for complaint in &complaints {
        println!("{complaint}");
    }
    if !complaints.is_empty() {
        bail!(
            "{} unexpected results; logs and checks are in {}",
            complaints.len(),
            scratch.display()
        );
    }
    Ok(())
}

fn judge(repository: &Repository, run: Run, scratch: &Path) -> anyhow::Result<Verdict> {
    let folder = scratch.join(run.to_string().replace('/', "-"));
    std::fs::create_dir_all(&folder).context("making room for the results")?;
    let scenarios = perform(repository, run, &folder).with_context(|| format!("running {run}"))?;
    Ok(Verdict::from_scenarios(run, &scenarios))
}

/// One run of the suite: as a client of the gateway, or as a server for the upstream crate.
#[derive(Debug, Clone, Copy)]
enum Run {
    Gateway {
        client: Era,
        upstream: Upstream,
    },
    UpstreamHalf(Era),
    /// The scenarios with logins, through `kitbag servers login`.
    Login(Era),
    /// The testbed by itself; only on request, to find out which side causes a failure.
    Direct(Era),
}

impl Run {
    fn all() -> Vec<Self> {
        use Era::{Legacy, Modern};
        use Transport::{Http, Stdio};
        vec![
            Self::gateway(Legacy, Legacy, Http),
            Self::gateway(Legacy, Modern, Http),
            Self::gateway(Legacy, Legacy, Stdio),
            Self::gateway(Modern, Modern, Http),
            Self::gateway(Modern, Legacy, Http),
            Self::gateway(Modern, Modern, Stdio),
            Self::gateway(Modern, Legacy, Stdio),
            Self::UpstreamHalf(Legacy),
            Self::UpstreamHalf(Modern),
            Self::Login(Legacy),
            Self::Login(Modern),
            Self::Direct(Legacy),
            Self::Direct(Modern),
        ]
    }

    fn gateway(client: Era, era: Era, transport: Transport) -> Self {
        let upstream = Upstream { era, transport };
        Self::Gateway { client, upstream }
    }

    /// Without a selection, a run includes every pair that involves the gateway.
    fn is_chosen(self, wanted: &[&str]) -> bool {
        match wanted {
            [] => !matches!(self, Self::Direct(_)),
            pairs => pairs.iter().any(|pair| self.to_string().starts_with(pair)),
        }
    }

    fn differences(self) -> Vec<&'static Difference> {
        match self {
            Self::Gateway { client, upstream } => expected::between(client, upstream.era),
            Self::UpstreamHalf(_) | Self::Login(_) | Self::Direct(_) => Vec::new(),
        }
    }
}

/// `legacy/modern-http`: a legacy client, a modern upstream over HTTP; `upstream/legacy`: the
/// upstream crate.
impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gateway { client, upstream } => write!(f, "{client}/{upstream}"),
            Self::UpstreamHalf(era) => write!(f, "upstream/{era}"),
            Self::Login(era) => write!(f, "login/{era}"),
            Self::Direct(era) => write!(f, "direct/{era}"),
        }
    }
}

fn choose_runs(arguments: &[&str]) -> anyhow::Result<Vec<Run>> {
    let mut wanted = Vec::new();
    for words in arguments.chunks(2) {
        let ["--pair", pair] = words else {
            bail!("`cargo xtask conformance` only takes --pair PAIR");
        };
        wanted.push(*pair);
    }
    let runs: Vec<Run> = Run::all()
        .into_iter()
        .filter(|run| run.is_chosen(&wanted))
        .collect();
    if runs.is_empty() {
        let names: Vec<String> = Run::all().iter().map(Run::to_string).collect();
        bail!(
            "no pair begins with {}; there are {}",
            wanted.join(" or "),
            names.join(", ")
        );
    }
    Ok(runs)
}

fn perform(repository: &Repository, run: Run, folder: &Path) -> anyhow::Result<Vec<Scenario>> {
    match run {
        Run::Gateway { client, upstream } => through_gateway(repository, client, upstream, folder),
        Run::Direct(era) => {
            let (_testbed, endpoint) =
                scene::start_testbed(repository, Profile::Debug, folder, era)?;
            suite::test_server(repository, era, &endpoint, folder)
        }
        Run::UpstreamHalf(era) => {
            let client = repository.program_path(Profile::Debug, "examples/conformance_client");
            let required = suite::list_required(repository, Side::Client, era)?;
            required
                .iter()
                .map(String::as_str)
                .chain(unscored_scenarios(era).iter().copied())
                .map(|name| suite::test_client(repository, era, &client, name, folder))
                .collect()
        }
        Run::Login(era) => {
            let client = repository.program_path(Profile::Debug, "examples/conformance_login");
            let required = suite::list_required(repository, Side::Client, era)?;
            let logins = required.iter().filter(|name| name.starts_with("auth/"));
            logins
                .map(|name| suite::test_client(repository, era, &client, name, folder))
                .collect()
        }
    }
}

/// Scenarios that the suite does not require but that matter to Kitbag: a gateway must not alter
/// schemas, it logs in by itself if no user is present, and servers of the first revision with
/// logins are still in use.
fn unscored_scenarios(era: Era) -> &'static [&'static str] {
    match era {
        Era::Legacy => &[
            "json-schema-2020-12-preservation",
            "auth/client-credentials-basic",
            "auth/2025-03-26-oauth-metadata-backcompat",
            "auth/2025-03-26-oauth-endpoint-fallback",
        ],
        Era::Modern => &[
            "json-schema-2020-12-preservation",
            "auth/client-credentials-basic",
        ],
    }
}

fn through_gateway(
    repository: &Repository,
    client: Era,
    upstream: Upstream,
    folder: &Path,
) -> anyhow::Result<Vec<Scenario>> {
    let (_testbed, section) = match upstream.transport {
        Transport::Stdio => (
            None,
            scene::stdio_section(repository, Profile::Debug, upstream.era),
        ),
        Transport::Http => {
            let (server, endpoint) =
                scene::start_testbed(repository, Profile::Debug, folder, upstream.era)?;
            (Some(server), scene::http_section(&endpoint))
        }
    };
    let gateway = Gateway::start(repository, Profile::Debug, folder, &section)?;
    suite::test_server(repository, client, &gateway.route(), folder)
}

/// The outcome of one run, as a line of the table and complaints below it.
#[derive(Debug)]
struct Verdict {
    run: Run,
    scenarios: usize,
    passed: usize,
    checks: usize,
    differing: usize,
    complaints: Vec<String>,
}

impl Verdict {
    fn from_scenarios(run: Run, scenarios: &[Scenario]) -> Self {
        let differences = run.differences();
        let unexpected = scenarios.iter().flat_map(|scenario| {
            unexpected_failures(scenario, &differences).map(move |failure| {
                let Failure { check, message } = failure;
                format!("✗ {run} {}: {check}: {message}", scenario.name)
            })
        });
        let stale = differences
            .iter()
            .filter(|difference| !difference.shows_in(scenarios))
            .map(|it| {
                format!(
                    "✗ {run} {}: {} passes now; remove it from expected.rs ({})",
                    it.scenario, it.check, it.reason
                )
            });
        Self {
            run,
            scenarios: scenarios.len(),
            passed: scenarios.iter().filter(|it| it.failures.is_empty()).count(),
            checks: scenarios.iter().map(|it| it.passed).sum(),
            differing: scenarios
                .iter()
                .filter(|scenario| differs_as_expected(scenario, &differences))
                .count(),
            complaints: unexpected.chain(stale).collect(),
        }
    }
}

/// The failures that no intended difference explains.
fn unexpected_failures<'a>(
    scenario: &'a Scenario,
    differences: &'a [&Difference],
) -> impl Iterator<Item = &'a Failure> {
    scenario.failures.iter().filter(|failure| {
        let mut covering = differences.iter();
        !covering.any(|difference| difference.covers(scenario, failure))
    })
}

/// True if the scenario fails, and each of its failures is an intended difference.
fn differs_as_expected(scenario: &Scenario, differences: &[&Difference]) -> bool {
    !scenario.failures.is_empty() && unexpected_failures(scenario, differences).next().is_none()
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = if self.complaints.is_empty() {
            '✓'
        } else {
            '✗'
        };
        let (run, passed, scenarios) = (self.run.to_string(), self.passed, self.scenarios);
        write!(
            f,
            "{mark} {run:<20} {passed:>2} of {scenarios:>2} scenarios, {:>3} checks",
            self.checks
        )?;
        if self.differing > 0 {
            write!(f, ", {} differ as expected", self.differing)?;
        }
        Ok(())
    }
}
