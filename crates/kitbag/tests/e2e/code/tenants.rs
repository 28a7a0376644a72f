//! A program sees its caller's tools, and nothing left by other runs.

use super::{Shop, run_text};
use crate::harness::{Client, Era};

async fn client(shop: &Shop, tenant: &str) -> Client {
    let key = shop.home().key(tenant).await;
    let builder = shop.gateway.client_at("/mcp/code", Era::Modern);
    builder.key(&key).connect().await
}

#[tokio::test]
async fn a_program_sees_the_tools_of_its_caller_and_no_others() {
    let shop = Shop::open("[tenants.acme]\n[tenants.globex]\ndeny_tools = ['shop/*']").await;
    let (acme, globex) = (client(&shop, "acme").await, client(&shop, "globex").await);
    let code = "return (await tools.shop.find_order({ order: '1' })).order";
    assert!(run_text(&acme, code).await.starts_with("1\n"));
    let refused = run_text(&globex, code).await;
    let missing = run_text(&globex, &code.replace("find_order", "find_nothing")).await;
    assert_eq!(refused.replace("find_order", "find_nothing"), missing);
    assert!(
        refused.contains("there is no tool called `shop__find_order`"),
        "{refused}"
    );
    for code in [
        "return describe('shop__find_order')",
        "return describe('shop.find_order')",
    ] {
        let seen = run_text(&acme, code).await;
        assert!(seen.contains("tools.shop.find_order(args: {"), "{seen}");
        let refused = run_text(&globex, code).await;
        assert!(refused.contains("there is no tool called"), "{refused}");
    }
    let search = "return (await search('look an order up')).map(t => t.name).filter(n => n.startsWith('shop'))";
    assert!(run_text(&globex, search).await.starts_with("[]"));
}

#[tokio::test]
async fn a_run_leaves_nothing_for_the_next_one() {
    let shop = Shop::open("").await;
    let client = shop.client(Era::Modern).await;
    run_text(
        &client,
        "globalThis.left = 1; Object.prototype.left = 2; Array.prototype.map = null; return 1",
    )
    .await;
    let found = run_text(
        &client,
        "return [typeof left, ({}).left === undefined, [1].map(n => n + 1)[0]]",
    )
    .await;
    assert!(found.starts_with(r#"["undefined",true,2]"#), "{found}");
}
