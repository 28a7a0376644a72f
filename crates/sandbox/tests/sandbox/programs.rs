//! The world of a program: what it can call, what it returns, and what it is told when it fails.

use kitbag_sandbox::Sandbox;
use serde_json::{Value, json};

use crate::harness::{run, settings, told};

async fn check(source: &str, expected: Value) {
    let sandbox = Sandbox::new(settings());
    assert_eq!(told(&run(&sandbox, source).await), Ok(expected), "{source}");
}

#[tokio::test]
async fn a_program_returns_a_value_from_behind_the_jail() {
    check("return 1 + 1", json!(2)).await;
}
