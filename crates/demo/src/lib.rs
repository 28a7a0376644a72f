//! Three small MCP servers that show Kitbag at work without a download.
//!
//! They know one imaginary shop: its orders, its customers' tickets, its calendar. Changes last until
//! the server ends.
//!
//! # Layout
//! - `shop`, `desk`, `calendar`: one server each; `data/*.json` has its tools and its first records

mod calendar;
mod desk;
mod shop;

use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

use calendar::Calendar;
use desk::Desk;
use kitbag_tool_server::{Implementation, ToolAnswer, ToolServer, unknown_tool};
use kitbag_wire::{ErrorObject, RawObject};
use serde::de::DeserializeOwned;
use serde_json::Value;
use shop::Shop;

/// Names one of the servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DemoName {
    Shop,
    Desk,
    Calendar,
}

impl DemoName {
    pub const ALL: [Self; 3] = [Self::Shop, Self::Desk, Self::Calendar];

    pub fn name(self) -> &'static str {
        match self {
            Self::Shop => "shop",
            Self::Desk => "desk",
            Self::Calendar => "calendar",
        }
    }

    fn implementation(self) -> Implementation {
        let (name, title) = match self {
            Self::Shop => ("demo-shop", "Demo shop"),
            Self::Desk => ("demo-desk", "Demo help desk"),
            Self::Calendar => ("demo-calendar", "Demo calendar"),
        };
        Implementation { name, title }
    }

    fn instructions(self) -> &'static str {
        match self {
            Self::Shop => "Orders, products and customers of an imaginary tea shop.",
            Self::Desk => "Tickets of the shop's customers.",
            Self::Calendar => "The calendar of the shop's staff.",
        }
    }

    fn data(self) -> &'static str {
        match self {
            Self::Shop => include_str!("../data/shop.json"),
            Self::Desk => include_str!("../data/desk.json"),
            Self::Calendar => include_str!("../data/calendar.json"),
        }
    }
}

impl FromStr for DemoName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|it| it.name() == text);
        found.ok_or_else(|| format!("there is no server `{text}`; use shop, desk or calendar"))
    }
}

/// A running server with its records.
#[derive(Debug)]
pub struct DemoServer {
    name: DemoName,
    definitions: Vec<Value>,
    records: Mutex<Records>,
}

#[derive(Debug)]
enum Records {
    Shop(Shop),
    Desk(Desk),
    Calendar(Calendar),
}

impl DemoServer {
    pub fn new(name: DemoName) -> Self {
        let RawData { tools } = read(name);
        let records = match name {
            DemoName::Shop => Records::Shop(read(name)),
            DemoName::Desk => Records::Desk(read(name)),
            DemoName::Calendar => Records::Calendar(read(name)),
        };
        Self {
            name,
            definitions: tools,
            records: Mutex::new(records),
        }
    }
}

#[derive(serde::Deserialize)]
struct RawData {
    tools: Vec<Value>,
}

fn read<T: DeserializeOwned>(name: DemoName) -> T {
    serde_json::from_str(name.data()).expect("a test reads every file")
}

impl ToolServer for DemoServer {
    fn implementation(&self) -> Implementation {
        self.name.implementation()
    }

    fn instructions(&self) -> &str {
        self.name.instructions()
    }

    fn definitions(&self) -> Vec<Value> {
        self.definitions.clone()
    }

    async fn call(&self, tool: &str, arguments: RawObject) -> Result<ToolAnswer, ErrorObject> {
        let mut records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = match &mut *records {
            Records::Shop(shop) => shop.call(tool, &arguments),
            Records::Desk(desk) => desk.call(tool, &arguments),
            Records::Calendar(calendar) => calendar.call(tool, &arguments),
        };
        answer.ok_or_else(|| unknown_tool(tool))
    }
}

/// Parses the arguments of a tool and runs it.
fn with_arguments<A: DeserializeOwned>(
    arguments: &RawObject,
    run: impl FnOnce(A) -> ToolAnswer,
) -> ToolAnswer {
    match serde_json::from_str(arguments.to_raw().get()) {
        Ok(parsed) => run(parsed),
        Err(error) => Err(format!("invalid arguments: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn every_tool_is_answered_and_any_other_is_unknown() {
        for name in DemoName::ALL {
            let server = DemoServer::new(name);
            for definition in server.definitions() {
                let tool = definition["name"].as_str().unwrap().to_owned();
                assert!(
                    server.call(&tool, RawObject::new()).await.is_ok(),
                    "{name:?}/{tool}"
                );
            }
            assert!(server.call("fly", RawObject::new()).await.is_err());
        }
    }

    #[tokio::test]
    async fn a_refunded_order_stays_refunded_and_its_ticket_can_be_closed() {
        let shop = DemoServer::new(DemoName::Shop);
        let refund = json!({ "order": 1004, "reason": "broken" });
        let answer = call(&shop, "refund_order", &refund).await.unwrap();
        assert_eq!(answer["status"], "refunded");
        let again = call(&shop, "refund_order", &refund).await.unwrap_err();
        assert_eq!(again, "order 1004 is already refunded");
        let orders = call(&shop, "list_orders", &json!({ "status": "refunded" })).await;
        assert_eq!(orders.unwrap()["orders"][0]["order"], 1004);

        let desk = DemoServer::new(DemoName::Desk);
        let closed = call(&desk, "close_ticket", &json!({ "ticket": 51 })).await;
        assert_eq!(closed.unwrap()["status"], "closed");
        let open = call(&desk, "list_tickets", &json!({ "status": "open" })).await;
        let open = open.unwrap();
        let mut tickets = open["tickets"].as_array().unwrap().iter();
        assert!(tickets.all(|ticket| ticket["ticket"] != 51));
    }

    #[tokio::test]
    async fn a_free_slot_overlaps_no_event() {
        let calendar = DemoServer::new(DemoName::Calendar);
        let day = json!({ "date": "2026-11-16", "minutes": 60 });
        let slot = call(&calendar, "find_free_slot", &day).await.unwrap();
        assert_eq!(
            slot,
            json!({ "date": "2026-11-16", "start": "10:30", "end": "11:30" })
        );
        let event =
            json!({ "title": "Tasting", "date": "2026-11-16", "start": "10:30", "end": "11:30" });
        call(&calendar, "create_event", &event).await.unwrap();
        let next = call(&calendar, "find_free_slot", &day).await.unwrap();
        assert_eq!(next["start"], "14:00");
        let taken = call(&calendar, "create_event", &event).await.unwrap_err();
        assert!(taken.starts_with("10:30–11:30 overlaps"), "{taken}");
    }

    async fn call(server: &DemoServer, tool: &str, arguments: &Value) -> ToolAnswer {
        let arguments = RawObject::open(&kitbag_wire::raw(arguments)).unwrap();
        server.call(tool, arguments).await.unwrap()
    }
}
