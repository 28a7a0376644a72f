//! Kills a writing process again and again, and checks that nothing it acknowledged is lost.
//!
//! The process is this test binary itself; a variable makes it act as the writer.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use kitbag_domain::{
    CallCost, Caller, Capability, Observation, Origin, Outcome, Purpose, Tenant, Timestamp,
};
use kitbag_store::{
    AuditQuery, AuditRow, KeySpec, PriorsRun, Recognition, Store, StoreAddress, StoredListing,
    StoredPrior,
};
use sqlx::{ConnectOptions, Connection};

const PLAY_THE_WRITER: &str = "KITBAG_KILL_TEST_DATABASE";
const ROUND: &str = "KITBAG_KILL_TEST_ROUND";
const ROUNDS: u32 = 24;
/// A slow machine needs more rounds until every kind of write was acknowledged.
const MOST_ROUNDS: u32 = 400;
const MIRRORED: usize = 20;

#[tokio::test]
async fn every_acknowledged_write_survives_a_kill_at_any_moment() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("kitbag.db").display().to_string();
    for address in [file, postgres_address()] {
        let mut acknowledged = Acknowledged::default();
        for round in 0..MOST_ROUNDS {
            if round >= ROUNDS && acknowledged.is_complete() {
                break;
            }
            let mut writer = start_writer(&address, round);
            let mut output = BufReader::new(writer.stdout.take().unwrap());
            acknowledged.read(&until_first_acknowledgement(&mut output));
            kill_within(&mut writer, Duration::from_millis(40));
            acknowledged.read(&rest(output));
            acknowledged.check(&address).await;
        }
        assert!(acknowledged.is_complete(), "{acknowledged:?}");
    }
}

#[tokio::test]
async fn a_store_killed_while_it_is_being_created_can_be_opened() {
    for round in 0..ROUNDS {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("data/kitbag.db");
        for address in [file.display().to_string(), postgres_address()] {
            let mut writer = start_writer(&address, round);
            let output = BufReader::new(writer.stdout.take().unwrap());
            kill_within(&mut writer, Duration::from_millis(60));
            let mut acknowledged = Acknowledged::default();
            acknowledged.read(&rest(output));
            acknowledged.check(&address).await;
        }
    }
}

/// Its own schema on the test server.
fn postgres_address() -> String {
    let server = std::env::var("KITBAG_TEST_POSTGRES").expect(
        "tests over PostgreSQL need a server: run them as `cargo xtask postgres -- cargo nextest run -p kitbag-store`",
    );
    let number = getrandom::u64().expect("randomness");
    let name = format!("killed_{number:016x}");
    format!("{server}?schema={name}&application_name={name}")
}

/// The server finishes the statements of a killed writer, and only then is nothing left to come.
async fn wait_for_end_of_writer(address: &str) {
    let (server, name) = address.split_once("?schema=").expect("an own schema");
    let (name, _) = name.split_once('&').expect("the name of the program");
    let mut session = sqlx::PgConnection::connect(server)
        .await
        .expect("the server runs");
    let select = "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1";
    loop {
        let sessions: i64 = sqlx::query_scalar(select)
            .bind(name)
            .fetch_one(&mut session)
            .await
            .expect("sessions can be counted");
        if sessions == 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

async fn open(address: &str) -> Store {
    let address = StoreAddress::parse(address, Path::new(".")).expect("the address can be read");
    let store = Store::open(&address).await;
    store.expect("the store opens, also after a kill")
}

fn start_writer(address: &str, round: u32) -> Child {
    Command::new(std::env::current_exe().expect("a running test has a path"))
        .args(["--ignored", "--exact", "--nocapture", "the_writer"])
        .env(PLAY_THE_WRITER, address)
        .env(ROUND, round.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the test binary can be started again")
}

fn until_first_acknowledgement(output: &mut impl BufRead) -> String {
    let mut text = String::new();
    while !text.contains("ack ") || !text.ends_with('\n') {
        let read = output.read_line(&mut text).expect("the writer prints text");
        assert!(read > 0, "the writer ended by itself: {text}");
    }
    text
}

fn rest(mut output: impl Read) -> String {
    let mut text = String::new();
    output
        .read_to_string(&mut text)
        .expect("the writer prints text");
    text
}

/// The kill must fall at any moment, not at a specific event.
fn kill_within(writer: &mut Child, limit: Duration) {
    let random = getrandom::u32().expect("randomness");
    std::thread::sleep(limit.mul_f64(f64::from(random) / f64::from(u32::MAX)));
    writer.kill().expect("the writer is still running");
    writer.wait().expect("the writer can be waited for");
}

/// Everything the writers of all rounds have acknowledged is stored.
#[derive(Debug, Default)]
struct Acknowledged {
    tokens: HashMap<String, String>,
    revoked: HashSet<String>,
    listings: HashMap<String, u64>,
    audit: HashSet<String>,
    mirrored: u64,
    priors: i64,
}

impl Acknowledged {
    fn read(&mut self, output: &str) {
        // A last line without its end was cut off by the kill and acknowledges nothing.
        let complete = output
            .rsplit_once('\n')
            .map_or("", |(complete, _)| complete);
        for words in complete
            .lines()
            .filter_map(|line| line.strip_prefix("ack "))
        {
            match words.split(' ').collect::<Vec<_>>()[..] {
                ["key", id, token] => self.tokens.extend([(id.to_owned(), token.to_owned())]),
                ["revoked", id] => self.revoked.extend([id.to_owned()]),
                ["listing", server, body] => {
                    let body = body.parse().expect("a number");
                    self.listings.extend([(server.to_owned(), body)]);
                }
                ["audit", name] => self.audit.extend([name.to_owned()]),
                ["mirror", number] => self.mirrored = number.parse().expect("a number"),
                ["priors", number] => self.priors = number.parse().expect("a number"),
                ref other => panic!("the writer said {other:?}"),
            }
        }
    }

    async fn check(&self, address: &str) {
        if address.starts_with("postgres") {
            wait_for_end_of_writer(address).await;
        }
        let store = open(address).await;
        let keys = store.list_keys().await.expect("keys can be listed");
        let known: HashMap<_, _> = keys
            .into_iter()
            .map(|key| (key.id.0, key.revoked_at))
            .collect();
        for (id, token) in &self.tokens {
            let revoked_at = known.get(id).unwrap_or_else(|| panic!("key {id} is lost"));
            assert!(
                revoked_at.is_some() || !self.revoked.contains(id),
                "the revocation of {id} is lost"
            );
            let found = store
                .authenticate(token, Timestamp(3))
                .await
                .expect("keys can be looked up");
            assert_eq!(
                matches!(found, Recognition::Known(_)),
                revoked_at.is_none(),
                "{found:?}"
            );
        }
        for (server, written) in &self.listings {
            let server = server.parse().expect("a server name");
            let listing = store
                .listing(&server)
                .await
                .expect("listings can be read")
                .expect("it is there");
            let found: u64 = listing.body.parse().expect("a number");
            assert!(found >= *written, "{found} instead of {written}");
        }
        let everything = AuditQuery::newest(u32::MAX);
        let rows = store
            .read_audit(&everything)
            .await
            .expect("audit rows can be read");
        let found: HashSet<_> = rows
            .iter()
            .filter_map(AuditRow::capability)
            .map(|it| it.name.clone())
            .collect();
        let lost: Vec<_> = self.audit.difference(&found).collect();
        assert!(lost.is_empty(), "{lost:?}");
        assert!(
            mirrored_number(&store).await >= self.mirrored,
            "a mirror is lost"
        );
        assert!(priors_run(&store).await >= self.priors, "priors are lost");
        store.close().await;
        if !address.starts_with("postgres") {
            check_integrity(Path::new(address)).await;
        }
    }

    /// Guards against a test that passes because nothing was ever written.
    fn is_complete(&self) -> bool {
        let counts = [
            self.tokens.len(),
            self.revoked.len(),
            self.listings.len(),
            self.audit.len(),
        ];
        counts.iter().all(|count| *count > 0) && self.mirrored > 0 && self.priors > 0
    }
}

async fn check_integrity(path: &Path) {
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(path);
    let mut connection = options.connect().await.expect("the file can be opened");
    let verdict: String = sqlx::query_scalar("PRAGMA integrity_check")
        .fetch_one(&mut connection)
        .await
        .expect("it can be checked");
    assert_eq!(verdict, "ok");
    connection.close().await.expect("it can be closed");
}

#[test]
#[ignore = "not a test: the process that gets killed"]
fn the_writer() {
    let Ok(address) = std::env::var(PLAY_THE_WRITER) else {
        return;
    };
    let round = std::env::var(ROUND).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let store = open(&address).await;
        // The harness has begun a line of its own.
        writeln!(std::io::stdout()).unwrap();
        tokio::join!(
            write_keys(&store),
            write_listings(&store),
            write_audit(&store, &round),
            write_mirror(&store),
            write_priors(&store)
        );
    });
}

async fn write_keys(store: &Store) {
    loop {
        let spec = KeySpec::user(Tenant::local());
        let key = store
            .create_key(&spec, Timestamp(1))
            .await
            .expect("a key is created");
        acknowledge(&format!("key {} {}", key.id, key.token.reveal()));
        if key.id.0.starts_with(|first: char| first.is_ascii_digit()) {
            store
                .revoke_key(&key.id, Timestamp(2))
                .await
                .expect("it is revoked");
            acknowledge(&format!("revoked {}", key.id));
        }
    }
}

async fn write_listings(store: &Store) {
    for number in 0_u64.. {
        let server = if number % 2 == 0 { "even" } else { "odd" }
            .parse()
            .expect("a server name");
        let earlier = store.listing(&server).await.expect("it can be read");
        let body = earlier.map_or(0, |it| it.body.parse::<u64>().expect("a number")) + 1;
        let listing = StoredListing {
            server,
            fingerprint: String::new(),
            body: body.to_string(),
            listed_at: Timestamp(1),
        };
        store
            .put_listing(&listing)
            .await
            .expect("a listing is stored");
        acknowledge(&format!("listing {} {body}", listing.server));
    }
}

async fn write_audit(store: &Store, round: &str) {
    let sink = store.start_audit_sink();
    for batch in 0.. {
        let names: Vec<_> = (0..10)
            .map(|number| format!("{round}.{batch}.{number}"))
            .collect();
        for name in &names {
            sink.record_call(Observation {
                at: Timestamp(1),
                caller: Caller::local(),
                client: None,
                origin: Origin::default(),
                purpose: Purpose::Use,
                capability: Capability::tool("git".parse().expect("a server name"), name),
                outcome: Outcome::Ok,
                latency: Duration::ZERO,
                cost: CallCost::default(),
                arguments: None,
            });
        }
        sink.flush().await;
        for name in &names {
            acknowledge(&format!("audit {name}"));
        }
    }
}

async fn write_mirror(store: &Store) {
    for number in mirrored_number(store).await + 1.. {
        let entries: Vec<_> = (0..MIRRORED)
            .map(|at| (format!("{at} of {number}"), number.to_string()))
            .collect();
        store
            .replace_mirror("numbers", &entries)
            .await
            .expect("entries are mirrored");
        acknowledge(&format!("mirror {number}"));
    }
}

async fn write_priors(store: &Store) {
    for number in priors_run(store).await + 1.. {
        let run = PriorsRun {
            counted_to: number,
            counted_at: Timestamp(number),
        };
        let priors: Vec<_> = (0..MIRRORED).map(|at| prior(at, number)).collect();
        store
            .replace_priors("numbers", run, &priors)
            .await
            .expect("priors are stored");
        acknowledge(&format!("priors {number}"));
    }
}

fn prior(at: usize, number: i64) -> StoredPrior {
    StoredPrior {
        server: "git".parse().expect("a server name"),
        name: at.to_string(),
        body: number.to_string(),
        updated_at: Timestamp(number),
    }
}

/// The run of all priors; zero before the first.
async fn priors_run(store: &Store) -> i64 {
    let run = store.priors_run("numbers").await.expect("a run");
    let number = run.map_or(0, |run| run.counted_to);
    let priors = store.priors("numbers").await.expect("priors can be read");
    let whole = if number == 0 { 0 } else { MIRRORED };
    let together = priors.iter().filter(|it| it.updated_at.0 == number).count();
    assert_eq!(
        (priors.len(), together),
        (whole, whole),
        "half replaced: {priors:?}"
    );
    number
}

/// The number that all mirrored entries were written with; zero before the first.
async fn mirrored_number(store: &Store) -> u64 {
    let entries = store
        .mirror_entries("numbers")
        .await
        .expect("the mirror can be read");
    let Some(number) = entries.values().next() else {
        return 0;
    };
    let together = entries
        .keys()
        .filter(|name| name.ends_with(&format!(" of {number}")))
        .count();
    assert_eq!(
        (entries.len(), together),
        (MIRRORED, MIRRORED),
        "half replaced: {entries:?}"
    );
    number.parse().expect("a number")
}

fn acknowledge(what: &str) {
    let line = format!("ack {what}\n");
    std::io::stdout()
        .write_all(line.as_bytes())
        .expect("the parent is listening");
}
