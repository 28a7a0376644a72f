//! Each service gets the key, the URL and the parameters that it expects.

use super::{EVAL, KEY, home, obey, report, right_arguments};
use crate::harness::model::{Model, ModelRequest};

#[tokio::test]
async fn azure_gets_its_key_and_version_where_it_expects_them() {
    let model = Model::start(obey).await;
    let home = home(&["p"]);
    let host = model.url.trim_end_matches("/v1");
    let endpoint = format!("{host}/openai/deployments/mine?api-version=2024-10-21#mine");
    let words = [
        "--model",
        &endpoint,
        "--key-env",
        "MODEL_KEY",
        "--key-header",
        "api-key",
    ];
    let output = home
        .kitbag(&[&EVAL[..], &["--json"], &words].concat())
        .await;
    assert_eq!(
        (output.code, right_arguments(&output)),
        (Some(0), 1.0),
        "{}",
        output.stderr
    );
    let ModelRequest { uri, headers, .. } = model.requests()[0].clone();
    assert_eq!(
        uri.to_string(),
        "/openai/deployments/mine/chat/completions?api-version=2024-10-21"
    );
    assert_eq!(
        (&headers["api-key"], headers.get("authorization")),
        (&KEY.parse().unwrap(), None)
    );
    assert_eq!(report(&output)["models"][0]["short"], "mine");
}

#[tokio::test]
async fn every_host_gets_its_own_key() {
    let (first, second) = (Model::start(obey).await, Model::start(obey).await);
    let home = home(&["p"]);
    home.export("OTHER_KEY", "sk-another-one");
    let other = second.url.replace("127.0.0.1", "localhost");
    let (one, two) = (format!("{}#m", first.url), format!("{other}#m"));
    let words = [
        "--model",
        &one,
        "--model",
        &two,
        "--key-env",
        "MODEL_KEY",
        "--key-env",
        "localhost=OTHER_KEY",
    ];
    let output = home
        .kitbag(&[&EVAL[..], &["--json"], &words].concat())
        .await;
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let key = |model: &Model| {
        model.requests()[0].headers["authorization"]
            .to_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(
        [key(&first), key(&second)],
        [format!("Bearer {KEY}"), "Bearer sk-another-one".to_owned()]
    );
    assert_eq!(
        report(&output)["models"][1]["short"],
        two,
        "two models of one name are told apart by their place"
    );
}

#[tokio::test]
async fn other_headers_are_sent_to_models_at_a_url_and_never_shown() {
    let model = Model::start(obey).await;
    let home = home(&["p"]);
    let endpoint = format!("{}#m", model.url);
    let words = [
        "--model",
        &endpoint,
        "--header",
        "X-Project=secret-project",
        "--log",
        "trace",
    ];
    let output = home
        .kitbag(&[&EVAL[..], &["--json"], &words].concat())
        .await;
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert_eq!(model.requests()[0].headers["x-project"], "secret-project");
    assert!(
        ![output.stdout, output.stderr]
            .iter()
            .any(|text| text.contains("secret-project"))
    );
}

#[tokio::test]
async fn options_that_fit_no_model_are_rejected_before_anything_is_sent() {
    let home = home(&["p"]);
    let fails = async |words: &[&str], part: &str| {
        let output = home.kitbag(&[&EVAL[..], &["--json"], words].concat()).await;
        assert!(
            output.code != Some(0) && output.stderr.contains(part),
            "{part}: {}",
            output.stderr
        );
    };
    let here = ["--model", "http://127.0.0.1:1/v1#m"];
    fails(
        &[&here[..], &["--key-env", "elsewhere.example=K"]].concat(),
        "no --model uses host elsewhere.example",
    )
    .await;
    fails(
        &[&here[..], &["--key-env", "=K"]].concat(),
        "expected NAME, or HOST=NAME",
    )
    .await;
    fails(
        &[&here[..], &["--header", "no value"]].concat(),
        "expected NAME=VALUE",
    )
    .await;
    fails(
        &[&here[..], &["--param", "temperature"]].concat(),
        "expected NAME=JSON",
    )
    .await;
    fails(
        &["--model", "openai:m", "--header", "A=b"],
        "--header is only for models at a URL",
    )
    .await;
}
