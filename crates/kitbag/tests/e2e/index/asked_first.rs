//! While most vectors are missing, tools that a search matches are embedded first.

use serde_json::{Value, json};

use super::{Listed, found_names, retrieve, tool};
use crate::harness::embeddings::{Embeddings, Mood};
use crate::harness::until;

const TOWNS: usize = 300;

/// By words, the harbour crane ranks first, because its name has the rarest word; by meaning, the
/// forecast is nearer. Both are listed after the towns.
fn tools() -> Vec<Value> {
    let towns = (0..TOWNS).map(|town| tool(&format!("town_{town}"), "Daily weather of a town"));
    let crane =
        "Lifts and lowers heavy goods between ships, trains and trucks, by day and by night";
    towns
        .chain([
            tool("harbour_crane", crane),
            tool("forecast", "Daily weather at the harbour"),
        ])
        .collect()
}

/// The tools, and a service that embeds them only when the test lets it.
async fn home_with_paced_service() -> (Embeddings, Listed) {
    let service = Embeddings::start(Mood::Paced).await;
    let prefix = format!("query_prefix = \"{}\"", Embeddings::QUERY);
    let listed = Listed::with(&tools(), &service.table(&prefix)).await;
    listed.home.export("EMBEDDINGS_KEY", "sk-any");
    (service, listed)
}

/// Waits for the nth request for tool vectors and returns its texts.
async fn wait_for_request(service: &Embeddings, nth: usize) -> Vec<String> {
    until("the service is asked for tools", async || {
        service.tools_asked().into_iter().nth(nth - 1)
    })
    .await
}

#[tokio::test]
async fn a_tool_that_a_search_asks_for_is_found_by_its_meaning_while_most_have_no_vector() {
    let (service, listed) = home_with_paced_service().await;
    let gateway = listed.home.serve().await;
    let request = json!({ "intent": "daily harbour weather", "top_k": 2 });

    let first = wait_for_request(&service, 1).await;
    assert!(first[0].starts_with("town_0 |"), "{first:?}");
    let (_, answer) = retrieve(&gateway, &request).await;
    assert_eq!(
        found_names(&answer)[0],
        "shop__harbour_crane",
        "by words alone"
    );
    assert_eq!(answer["candidates"][0]["cosine"], Value::Null);

    service.let_one_pass();
    let next = wait_for_request(&service, 2).await;
    for name in ["forecast |", "harbour_crane |"] {
        assert!(next.iter().any(|text| text.starts_with(name)), "{next:?}");
    }
    service.let_one_pass();
    let answer = until("the forecast is found by its meaning", async || {
        let (_, answer) = retrieve(&gateway, &request).await;
        (found_names(&answer)[0] == "shop__forecast").then_some(answer)
    })
    .await;
    assert!(answer["candidates"][0]["cosine"].is_number(), "{answer:#}");
    let embedded = answer["embedded"].as_u64().unwrap();
    assert!(embedded < TOWNS as u64 / 2, "{embedded}");
}

#[tokio::test]
async fn every_tool_is_embedded_once_whatever_searches_ask_for() {
    let (service, listed) = home_with_paced_service().await;
    let gateway = listed.home.serve().await;
    wait_for_request(&service, 1).await;
    for intent in ["harbour", "daily weather of a town", "town 299"] {
        service.let_one_pass();
        retrieve(&gateway, &json!({ "intent": intent })).await;
    }
    service.set_mood(Mood::Fine(Embeddings::DIMENSION));
    service.let_one_pass();
    super::wait_until_embedded(&gateway, TOWNS as u64 + 2).await;
    let mut asked: Vec<String> = service.tools_asked().concat();
    let all = asked.len();
    asked.sort_unstable();
    asked.dedup();
    assert_eq!((asked.len(), all), (TOWNS + 2, TOWNS + 2));
}
