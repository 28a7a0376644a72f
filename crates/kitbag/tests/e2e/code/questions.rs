//! Servers that ask the user in the middle of a run, in each pair of eras.

use serde_json::json;

use super::run_text;
use crate::harness::Era;
use crate::harness::world::{SERVERS, World};

#[tokio::test]
async fn a_server_asks_in_the_middle_of_a_run_and_the_program_continues_with_the_answer() {
    let world = World::with("[policy]\ncode_writes = 'allow'\n").await;
    for era in Era::each() {
        let builder = world.gateway.client_at("/mcp/code", era);
        let client = builder.answer_with(|_, _| {
            json!({ "action": "accept", "content": { "name": "Ann", "color": "red", "ok": true } })
        });
        let client = client.connect().await;
        for server in &SERVERS {
            let code = format!(
                "const before = 40; const said = await tools.{}.test_elicitation({{ message: 'Who?' }});\n\
                 return `${{before + 2}} ${{said}}`",
                server.name
            );
            let output = run_text(&client, &code).await;
            assert!(
                output.starts_with("42 User response: action=accept"),
                "{era:?} {}: {output}",
                server.name
            );
        }
    }
}
