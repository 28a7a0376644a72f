//! Compares the estimate with the exact count, on definitions and other texts.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
#![expect(
    clippy::print_stdout,
    reason = "the figures are of interest when they are good, too"
)]

use std::path::Path;

use kitbag_budget::{count, estimate_tokens};
use serde_json::{Value, json};

#[test]
fn tool_definitions_are_estimated_within_five_percent_in_total_and_eight_each() {
    let definitions: Vec<String> = tools().iter().map(definition).collect();
    assert!(definitions.len() > 200, "{} definitions", definitions.len());
    check("definitions", &definitions, 0.05, 0.08);
}

#[test]
fn a_list_of_definitions_is_estimated_as_well_as_each() {
    let definitions: Vec<String> = tools().iter().map(definition).collect();
    let lists: Vec<String> = definitions
        .chunks(20)
        .map(|chunk| format!("[{}]", chunk.join(",")))
        .collect();
    check("lists of definitions", &lists, 0.05, 0.05);
}

#[test]
fn signatures_are_estimated_within_five_percent_in_total_and_eight_each() {
    let lines: Vec<String> = tools().iter().map(signature).collect();
    let answers: Vec<String> = lines.chunks(5).map(|chunk| chunk.join("\n")).collect();
    check("signatures, five at a time", &answers, 0.05, 0.08);
}

#[test]
fn results_in_json_are_estimated_within_ten_percent() {
    let rows: Vec<Value> = (0..40_u32).map(row).collect();
    let compact: Vec<String> = rows.chunks(8).map(|rows| json!(rows).to_string()).collect();
    let pretty: Vec<String> = rows
        .chunks(8)
        .map(|rows| serde_json::to_string_pretty(rows).unwrap())
        .collect();
    check("JSON results, compact", &compact, 0.1, 0.1);
    check("JSON results, pretty", &pretty, 0.1, 0.1);
}

#[test]
fn prose_is_estimated_within_a_quarter_in_any_language() {
    for (language, text) in PROSE {
        check(language, &[text.repeat(3)], 0.25, 0.25);
    }
}

/// Compares estimates with counts: the total, and the average error of each.
#[track_caller]
fn check(what: &str, texts: &[String], in_total: f64, each: f64) {
    let pairs: Vec<(f64, f64)> = texts
        .iter()
        .map(|text| (estimate_tokens(text) as f64, count(text) as f64))
        .collect();
    let (estimated, counted) = pairs
        .iter()
        .fold((0.0, 0.0), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1));
    let total = estimated / counted - 1.0;
    let off = pairs
        .iter()
        .map(|(estimated, counted)| (estimated / counted - 1.0).abs());
    let mean = off.clone().sum::<f64>() / pairs.len() as f64;
    let worst = off.fold(0.0, f64::max);
    let figures = format!(
        "{what}: {} texts, {counted} tokens, estimate {:+.1} %; each off by {:.1} %, at worst {:.0} %",
        pairs.len(),
        total * 100.0,
        mean * 100.0,
        worst * 100.0
    );
    println!("{figures}");
    assert!(total.abs() <= in_total && mean <= each, "{figures}");
}

/// The tools of the retrieval evals.
fn tools() -> Vec<Value> {
    let evals = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../evals");
    let read = |name: &str| std::fs::read_to_string(evals.join(name).join("tools.jsonl")).unwrap();
    let lines = format!("{}\n{}", read("p0"), read("small"));
    lines
        .lines()
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn definition(tool: &Value) -> String {
    json!({"name": tool["name"], "description": tool["description"], "inputSchema": tool["schema"]})
        .to_string()
}

fn signature(tool: &Value) -> String {
    let parameters = tool["schema"]["properties"]
        .as_object()
        .into_iter()
        .flatten();
    let parameters: Vec<String> = parameters
        .map(|(name, schema)| format!("{name}?: {}", schema["type"].as_str().unwrap_or("any")))
        .collect();
    let (server, name) = (
        tool["server"].as_str().unwrap_or("tools"),
        tool["name"].as_str().unwrap(),
    );
    format!(
        "{server}__{name}({}) · {}",
        parameters.join(", "),
        tool["description"].as_str().unwrap()
    )
}

/// A row as returned by APIs.
fn row(number: u32) -> Value {
    let hash = |salt: u32| format!("{:08x}", (number + 1).wrapping_mul(salt));
    json!({
        "id": number * 7919 + 100_003,
        "uuid": format!("{}-41d4-a716-{}", hash(2_654_435_761), hash(40_503)),
        "sha": hash(2_246_822_519) + &hash(3_266_489_917) + &hash(668_265_263),
        "url": format!("https://tracker.example.com/teams/platform/issues/{number}"),
        "title": "Uploads over 2 GB fail with a timeout",
        "body": "Since the last release the upload stops at 99 %.\n\nSteps:\n1. Open a project\n2. Drop a file",
        "createdAt": format!("2026-03-{:02}T14:{:02}:07Z", number % 28 + 1, number % 60),
        "labels": [{"name": "bug", "color": "d73a4a"}, {"name": "needs-triage", "color": "ededed"}],
        "score": f64::from(number) * 0.737 + 0.05,
        "assignee": null,
        "closed": number.is_multiple_of(3),
    })
}

const PROSE: [(&str, &str); 10] = [
    (
        "English",
        "The gateway stands between your editor and every server you have. It starts a server when a tool of it is first called, and stops it when nobody has asked for a while. If a call fails, you are told what happened and what to try next. ",
    ),
    (
        "German",
        "Das Tor steht zwischen dem Editor und allen Diensten, die Sie eingerichtet haben. Ein Dienst wird gestartet, sobald eines seiner Werkzeuge gebraucht wird, und beendet, wenn eine Weile niemand gefragt hat. Schlägt ein Aufruf fehl, erfahren Sie, was geschehen ist. ",
    ),
    (
        "French",
        "La passerelle se trouve entre votre éditeur et tous les serveurs que vous avez. Elle démarre un serveur quand un de ses outils est appelé pour la première fois, puis l'arrête quand personne ne l'a demandé depuis un moment. ",
    ),
    (
        "Spanish",
        "La pasarela está entre tu editor y todos los servidores que tienes. Arranca un servidor cuando se llama por primera vez a una de sus herramientas y lo detiene cuando nadie lo ha pedido durante un rato. ",
    ),
    (
        "Polish",
        "Brama stoi między twoim edytorem a wszystkimi serwerami, które masz. Uruchamia serwer, gdy po raz pierwszy wywołano jego narzędzie, i zatrzymuje go, gdy przez jakiś czas nikt o niego nie pytał. ",
    ),
    (
        "Russian",
        "Шлюз стоит между вашим редактором и всеми серверами, которые у вас есть. Он запускает сервер, когда впервые вызывают один из его инструментов, и останавливает, когда какое-то время никто не обращался. ",
    ),
    (
        "Chinese",
        "网关位于您的编辑器和所有服务器之间。当第一次调用某个服务器的工具时，它会启动该服务器；一段时间无人使用后，它会将其停止。如果调用失败，它会告诉您发生了什么以及下一步该怎么做。",
    ),
    (
        "Japanese",
        "ゲートウェイはエディターとすべてのサーバーの間にあります。ツールが初めて呼び出されるとサーバーを起動し、しばらく使われないと停止します。呼び出しに失敗した場合は、何が起きたのかを伝えます。",
    ),
    (
        "Korean",
        "게이트웨이는 편집기와 모든 서버 사이에 있습니다. 도구가 처음 호출되면 서버를 시작하고 한동안 아무도 찾지 않으면 멈춥니다. 호출이 실패하면 무슨 일이 있었는지 알려 줍니다. ",
    ),
    (
        "Arabic",
        "تقف البوابة بين المحرر وجميع الخوادم التي لديك. تشغل الخادم عند استدعاء إحدى أدواته لأول مرة وتوقفه عندما لا يطلبه أحد لفترة. إذا فشل الاستدعاء فسيقال لك ما حدث. ",
    ),
];
