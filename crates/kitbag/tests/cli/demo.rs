//! `kitbag demo`, and programs that search without a running gateway.

use std::fs;

use kitbag_testkit::home::Home;

#[test]
fn the_tour_shows_search_call_program_and_learning_and_leaves_nothing() {
    let home = Home::new();
    let stops = home.json(&["demo"]);
    let outputs: Vec<&str> = stops
        .as_array()
        .unwrap()
        .iter()
        .map(|stop| stop["output"].as_str().unwrap())
        .collect();
    let [tokens, found, called, program, before, learning, after] = outputs.as_slice() else {
        panic!("{outputs:#?}");
    };
    assert!(tokens.contains("saved"), "{tokens}");
    assert!(
        found.lines().nth(1).unwrap().contains("shop__refund_order"),
        "{found}"
    );
    assert!(called.contains(r#""status":"refunded""#), "{called}");
    assert!(
        program.contains("#51 Broken teapot: order 1004"),
        "{program}"
    );
    assert!(learning.contains(r#""refunded":1004"#), "{learning}");
    assert!(!before.contains("shop__refund_order"), "{before}");
    assert!(after.contains("shop__refund_order"), "{after}");
    assert!(!home.config().exists() && !home.path(".local").exists());
}

#[test]
fn the_servers_of_the_demo_can_be_added() {
    let home = Home::new();
    for name in ["shop", "desk", "calendar"] {
        let added = home.ok(&[
            "servers", "add", name, "--", "kitbag", "demo", "serve", name,
        ]);
        assert!(added.contains("It works and offers"), "{added}");
    }
    let slot = [
        "call",
        "calendar__find_free_slot",
        "date=2026-11-16",
        "minutes=60",
    ];
    assert!(home.ok(&slot).contains(r#""start":"10:30""#));
}

#[test]
fn a_program_finds_tools_without_a_running_gateway() {
    let home = Home::new();
    home.ok(&[
        "servers", "add", "shop", "--", "kitbag", "demo", "serve", "shop",
    ]);
    fs::write(
        home.path("search.js"),
        "return await search('money back for an order')",
    )
    .unwrap();
    let found = home.ok(&["run", "search.js"]);
    assert!(found.contains("shop__refund_order"), "{found}");
}
