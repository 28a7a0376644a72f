//! What a program can do, and what it returns to the model.

use serde_json::Value;

use super::{Shop, run, run_text};
use crate::harness::{Era, until};

/// Compares the first line that the model reads.
#[track_caller]
fn check(output: &str, expected: &str) {
    assert_eq!(
        output.lines().next().unwrap_or_default(),
        expected,
        "{output}"
    );
}

#[tokio::test]
async fn a_program_calls_tools_and_only_its_return_value_goes_back() {
    let shop = Shop::open("").await;
    for era in Era::each() {
        let client = shop.client(era).await;
        for (code, expected) in [
            ("return 1 + 1", "2"),
            ("return 'plain text'", "plain text"),
            ("return { a: [1, null] }", r#"{"a":[1,null]}"#),
            (
                "const r = await tools.shop.find_order({ order: '7' }); return r.order",
                "7",
            ),
            (
                "const r = await call('shop__find_order', { order: '8' }); return r.order",
                "8",
            ),
            (
                "const all = await Promise.all([1, 2, 3].map(n => tools.shop.find_order({ order: String(n) })));\n\
                 return all.map(r => r.order).join('+')",
                "1+2+3",
            ),
            ("const n: number = 4; return n as unknown", "4"),
            (
                "(await search('look an order up'))[0].name",
                "shop__find_order",
            ),
        ] {
            check(&run_text(&client, code).await, expected);
        }
    }
}

#[tokio::test]
async fn the_model_reads_the_printed_lines_and_the_calls() {
    let shop = Shop::open("").await;
    let client = shop.client(Era::Modern).await;
    let output = run_text(
        &client,
        "console.log('two', { n: 2 }); await tools.shop.find_order({ order: '1' });\n\
         await tools.shop.find_order({ order: '2' }); return 'done'",
    )
    .await;
    let lines: Vec<&str> = output.lines().collect();
    assert_eq!(lines[..2], ["done", "[console]"], "{output}");
    assert!(lines[2].starts_with("two "), "{output}");
    assert!(
        lines[3].starts_with("[calls] shop__find_order ×2 "),
        "{output}"
    );
}

#[tokio::test]
async fn a_mistake_is_reported_with_its_position_and_a_remedy() {
    let shop = Shop::open("[code]\ntimeout = '20s'").await;
    let client = shop.client(Era::Modern).await;
    for (code, expected) in [
        ("const a = 1;\nreturn a +;", "line 2, column"),
        ("const a = 1;\n\nreturn b.c;", "line 3"),
        (
            "return await tools.shop.find_order({})",
            "/order: missing, expected a string",
        ),
        (
            "return await tools.shop.find_ordr({ order: '1' })",
            "did you mean shop__find_order",
        ),
        ("return fetch('http://example.com')", "fetch"),
        ("while (true) {}", "the program "),
        (
            "await new Promise(() => {})",
            "waits for a promise that nothing will settle",
        ),
    ] {
        let reply = run(&client, code).await;
        let output = reply.tool_text();
        assert_eq!(reply.result()["isError"], true, "{code}: {output}");
        assert!(output.contains(expected), "{code}: {output}");
    }
}

#[tokio::test]
async fn an_error_of_a_tool_can_be_caught_and_carries_its_result() {
    let shop = Shop::open("").await;
    let client = shop.client(Era::Legacy).await;
    let output = run_text(
        &client,
        "try { await tools.shop.find_order({ order: {} }) } catch (e) { return [e.name, e.kind, e instanceof ToolError] }",
    )
    .await;
    check(&output, r#"["ToolError","invalid",true]"#);
}

#[tokio::test]
async fn each_call_is_recorded_with_the_run_that_it_belongs_to() {
    let shop = Shop::open("").await;
    let client = shop.client(Era::Modern).await;
    let code =
        "await tools.shop.find_order({ order: '1' }); await tools.shop.find_order({ order: '2' })";
    let result = run(&client, code).await.result();
    let run_id = result["_meta"]["io.kitbag/run"]
        .as_str()
        .unwrap()
        .to_owned();
    run(&client, code).await;
    let rows = until("the calls are recorded", async || {
        let output = shop
            .home()
            .kitbag(&["audit", "--run", &run_id, "--json"])
            .await;
        let rows = output.stdout.lines().map(serde_json::from_str);
        let rows: Vec<Value> = rows.collect::<Result<_, _>>().ok()?;
        (rows.len() == 2).then_some(rows)
    })
    .await;
    assert!(rows.iter().all(|row| row["run"] == *run_id), "{rows:?}");
}

#[tokio::test]
async fn the_whole_surface_is_two_tools_in_eighty_five_tokens_and_the_names_of_the_servers() {
    let shop = Shop::open("").await;
    let output = shop
        .home()
        .kitbag(&["stats", "tokens", "--surface", "code", "--json"])
        .await;
    let report: Value = serde_json::from_str(&output.stdout).unwrap();
    assert!(report["shown"].as_u64().unwrap() <= 85 + 30, "{report}");
}

#[tokio::test]
async fn a_user_runs_a_program_and_reads_the_gateways_counters() {
    let shop = Shop::open("").await;
    let file = shop.home().path("report.js");
    std::fs::write(
        &file,
        "return (await tools.shop.find_order({ order: '5' })).order",
    )
    .unwrap();
    let file = file.to_str().unwrap();
    let output = shop.home().kitbag(&["run", file]).await;
    assert!(output.stdout.starts_with("5\n"), "{output:?}");
    let output = shop.home().kitbag(&["stats", "--json"]).await;
    let counted: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(counted["operations"][0]["path"], "code", "{counted}");
    assert_eq!(counted["operations"][0]["outcomes"]["ok"], 1, "{counted}");
    let output = shop.home().kitbag(&["stats"]).await;
    assert!(
        output.stdout.contains("code_execution_success"),
        "{output:?}"
    );
}
