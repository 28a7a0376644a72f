//! Requests to models through the real binary, to a scripted vendor.
//!
//! # Layout
//! - this file: a gateway between a client and a vendor, with more tools than a request keeps
//! - [`passing`]: everything except the tools passes unchanged
//! - [`paths`]: paths that would lead above the vendor's URL
//! - [`trimming`]: which tools stay
//! - [`keys`]: which key is sent where, and which tools are ours

mod keys;
mod passing;
mod paths;
mod trimming;

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::response::Response;
use kitbag_testkit::vendor::ScriptedVendor;
use serde_json::{Value, json};

use crate::harness::shop::{shop, shop_table};
use crate::harness::{Era, Gateway, Home, Remote, until};

struct Proxied {
    gateway: Gateway,
    vendor: ScriptedVendor,
    _shop: Option<Remote>,
}

impl Proxied {
    /// Without any tools; with extra tables in the configuration.
    async fn with(config: &str) -> Self {
        Self::start(Home::new(""), None, config).await
    }

    /// Without any tools; with extra lines in `[models]`.
    async fn with_models(lines: &str) -> Self {
        let vendor = silent_vendor().await;
        let config = vendor.tables_with(lines);
        Self::behind(vendor, Home::new(""), None, &config).await
    }

    async fn start(home: Arc<Home>, shop: Option<Remote>, config: &str) -> Self {
        let vendor = silent_vendor().await;
        let servers = shop.as_ref().map(shop_table).unwrap_or_default();
        let config = format!("{servers}{}{config}", vendor.tables());
        Self::behind(vendor, home, shop, &config).await
    }

    async fn behind(
        vendor: ScriptedVendor,
        home: Arc<Home>,
        shop: Option<Remote>,
        config: &str,
    ) -> Self {
        home.configure(config);
        let gateway = home.serve().await;
        Self {
            gateway,
            vendor,
            _shop: shop,
        }
    }

    /// With a shop whose tools can all be found.
    async fn with_shop(config: &str) -> Self {
        let home = Home::new("");
        let goods: Vec<Value> = GOODS.iter().map(definition).collect();
        let shop = shop(&home, &goods).await;
        let proxied = Self::start(home, Some(shop), config).await;
        let gateway = &proxied.gateway;
        gateway
            .client(Era::Modern)
            .await
            .knows("shop__send_mail")
            .await;
        until("every tool has its vector", async || {
            let asked = json!({ "intent": "anything" }).to_string();
            let answer = gateway.post("/v1/retrieve", &[], asked).await;
            let answer: Value = serde_json::from_str(answer.raw()).unwrap();
            (answer["indexed"] == GOODS.len() && answer["indexed"] == answer["embedded"])
                .then_some(())
        })
        .await;
        proxied
    }

    /// Sends a request and returns the body that the vendor received.
    async fn send(&self, path: &str, body: &str) -> Bytes {
        let client = reqwest::Client::new();
        let url = format!("{}{path}", self.gateway.base);
        let sent = client.post(url).body(body.to_owned()).send().await.unwrap();
        assert_eq!(sent.status(), 200, "{}", sent.text().await.unwrap());
        self.vendor.last().body
    }
}

/// A vendor that answers every request with an empty object.
async fn silent_vendor() -> ScriptedVendor {
    ScriptedVendor::start(|_| Response::new(Body::from("{}"))).await
}

/// More tools than a request keeps, for different purposes.
const GOODS: [(&str, &str); 30] = [
    ("send_mail", "Send an e-mail message to a recipient"),
    ("read_inbox", "Read the newest e-mail messages of the inbox"),
    ("weather_forecast", "Weather forecast for a city"),
    (
        "convert_currency",
        "Convert an amount of money between currencies",
    ),
    ("create_invoice", "Create an invoice for a customer"),
    ("refund_payment", "Refund a card payment"),
    ("list_orders", "List the orders of a customer in the shop"),
    ("track_parcel", "Track a parcel of a carrier"),
    ("book_flight", "Book a flight between two airports"),
    ("book_hotel", "Book a hotel room"),
    ("play_song", "Play a song on the speakers"),
    ("set_alarm", "Set an alarm clock"),
    ("add_event", "Add an event to the calendar"),
    ("translate_text", "Translate a text into another language"),
    ("resize_image", "Resize an image file"),
    ("transcribe_audio", "Transcribe speech in an audio file"),
    ("query_database", "Run an SQL query on the database"),
    ("restart_server", "Restart a virtual machine"),
    ("open_ticket", "Open a support ticket"),
    ("merge_branch", "Merge a git branch"),
    ("run_tests", "Run the unit tests of a project"),
    ("deploy_release", "Deploy a release to production"),
    ("scale_cluster", "Scale the nodes of a cluster"),
    ("rotate_secret", "Rotate a credential"),
    ("lock_door", "Lock the front door"),
    ("dim_lights", "Dim the lights of a room"),
    ("water_plants", "Water the plants in the garden"),
    ("feed_cat", "Feed the cat"),
    ("order_pizza", "Order a pizza"),
    (
        "pinned_thing",
        "A thing that the operator wants in every request",
    ),
];

fn definition((name, description): &(&str, &str)) -> Value {
    json!({ "name": name, "description": description, "inputSchema": { "type": "object" } })
}
