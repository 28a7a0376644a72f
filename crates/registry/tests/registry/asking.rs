//! Requests to a registry over real HTTP.

use kitbag_domain::Remedy as _;
use kitbag_registry::{EntryStatus, Registry, RegistryEntry};

use kitbag_testkit::test_registry::TestRegistry;

fn at(test_registry: &TestRegistry) -> Registry {
    Registry::new(test_registry.url.parse().unwrap())
}

fn names(entries: &[RegistryEntry]) -> Vec<String> {
    let named = |entry: &RegistryEntry| format!("{} {}", entry.server.name, entry.server.version);
    entries.iter().map(named).collect()
}

#[tokio::test]
async fn a_search_reads_all_pages_and_skips_unreadable_entries() {
    let test_registry = TestRegistry::open().await;
    let found = at(&test_registry).find_servers("weather").await.unwrap();
    assert_eq!(
        names(&found),
        [
            "io.github.acme/weather 1.1.0",
            "io.github.older/weather 0.9.0"
        ]
    );
    assert_eq!(found[1].status, EntryStatus::Deprecated);
    assert_eq!(test_registry.searches(), ["weather"]);
}

#[tokio::test]
async fn words_are_searched_one_by_one_when_no_name_has_them_all() {
    let test_registry = TestRegistry::open().await;
    let found = at(&test_registry)
        .find_servers(" Forecasts: weather ")
        .await
        .unwrap();
    assert_eq!(names(&found)[0], "io.github.acme/weather 1.1.0");
    assert_eq!(
        test_registry.searches(),
        ["Forecasts: weather", "forecasts", "weather"]
    );
    assert_eq!(
        names(
            &at(&test_registry)
                .find_servers("nothing like it")
                .await
                .unwrap()
        ),
        [""; 0]
    );
}

#[tokio::test]
async fn an_entry_is_fetched_by_name_and_version() {
    let test_registry = TestRegistry::open().await;
    let registry = at(&test_registry);
    let name = "io.github.acme/weather".parse().unwrap();
    let version = async |version| {
        registry
            .fetch_entry(&name, version)
            .await
            .map(|it| it.server.version)
    };
    assert_eq!(version(None).await.unwrap(), "1.1.0");
    assert_eq!(version(Some("1.0.0")).await.unwrap(), "1.0.0");
    assert_eq!(
        registry
            .find_by_short_name("Weather")
            .await
            .unwrap_err()
            .remedy()
            .unwrap()
            .lines()
            .count(),
        3
    );
    assert_eq!(
        registry
            .find_by_short_name("ledger")
            .await
            .unwrap()
            .server
            .name
            .as_str(),
        "io.github.acme/ledger"
    );
}

#[tokio::test]
async fn every_error_comes_with_a_remedy() {
    let test_registry = TestRegistry::open().await;
    let registry = at(&test_registry);
    let place = registry.display_url();
    let reported = |error: kitbag_registry::RegistryError| {
        format!("{error} => {}", error.remedy().unwrap())
            .replace(place, "HERE")
            .replace('\n', " ")
    };
    let entry = async |name: &str, version| {
        reported(
            registry
                .fetch_entry(&name.parse().unwrap(), version)
                .await
                .unwrap_err(),
        )
    };
    assert_eq!(
        entry("io.github.acme/wether", None).await,
        "the registry HERE has no server `io.github.acme/wether` => search for it: kitbag servers find wether"
    );
    assert_eq!(
        entry("com.else/ledger", None).await,
        "the registry HERE has no server `com.else/ledger` => did you mean one of these? \
         kitbag servers add io.github.acme/ledger"
    );
    assert_eq!(
        entry("io.github.acme/weather", Some("9.9/9")).await,
        "the registry HERE has no version `9.9/9` of `io.github.acme/weather` => add the latest version: \
         kitbag servers add io.github.acme/weather"
    );
    let find = async |text: &str| reported(registry.find_servers(text).await.unwrap_err());
    assert_eq!(
        find("too-much").await,
        "the registry HERE is rate limiting requests (429) => try again in 7 seconds"
    );
    assert!(
        find("broken")
            .await
            .starts_with("the registry HERE answered 500: the database is away => try again")
    );
    assert!(
        find("page")
            .await
            .contains("sent an unexpected response: expected value at line 1 column 1")
    );

    let nowhere = Registry::new("http://127.0.0.1:1/".parse().unwrap())
        .find_servers("x")
        .await
        .unwrap_err();
    let reported = format!("{nowhere} => {}", nowhere.remedy().unwrap());
    assert!(
        reported.starts_with("the registry http://127.0.0.1:1 cannot be reached: "),
        "{reported}"
    );
    assert!(reported.contains("--registry-url"), "{reported}");
}
