//! x
use serde_json::json;

use crate::harness::{Client, Gateway, Home, Manner, Testbed};

#[tokio::test]
async fn smoke() {
    let gateway = Gateway::with(&Testbed::named("good").table()).await;
    for manner in Manner::BOTH {
        let client = gateway.client(manner).await;
        client.knows("good__echo").await;
        let reply = client.call("good__echo", &json!({"a":1})).await;
        assert_eq!(reply.text(), r#"{"a":1}"#);
        let home = Home::new(&Testbed::named("good").table());
        let client = Client::stdio(&home, manner).connect().await;
        client.knows("good__echo").await;
        let reply = client.call("good__echo", &json!({"a":1})).await;
        assert_eq!(reply.text(), r#"{"a":1}"#);
    }
}
