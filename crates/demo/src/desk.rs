//! The server `desk`: tickets of customers.

use kitbag_tool_server::ToolAnswer;
use kitbag_wire::RawObject;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::with_arguments;

#[derive(Debug, Deserialize)]
pub(crate) struct Desk {
    tickets: Vec<Ticket>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Ticket {
    ticket: u32,
    from: String,
    subject: String,
    text: String,
    order: Option<u32>,
    status: TicketStatus,
    #[serde(default)]
    replies: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum TicketStatus {
    Open,
    Answered,
    Closed,
}

#[derive(Deserialize)]
struct TicketFilter {
    status: Option<TicketStatus>,
    text: Option<String>,
}

#[derive(Deserialize)]
struct TicketNumber {
    ticket: u32,
}

#[derive(Deserialize)]
struct Reply {
    ticket: u32,
    text: String,
}

impl Desk {
    /// Answers a call; `None` if there is no such tool.
    pub(crate) fn call(&mut self, tool: &str, arguments: &RawObject) -> Option<ToolAnswer> {
        Some(match tool {
            "list_tickets" => with_arguments(arguments, |filter| self.list_tickets(&filter)),
            "get_ticket" => with_arguments(arguments, |TicketNumber { ticket }| {
                self.find_ticket(ticket).map(|found| json!(found))
            }),
            "reply_to_ticket" => with_arguments(arguments, |reply| self.reply(reply)),
            "close_ticket" => with_arguments(arguments, |TicketNumber { ticket }| {
                let ticket = self.find_ticket(ticket)?;
                ticket.status = TicketStatus::Closed;
                Ok(json!(ticket))
            }),
            _ => return None,
        })
    }

    fn list_tickets(&self, filter: &TicketFilter) -> ToolAnswer {
        let text = filter.text.as_ref().map(|text| text.to_lowercase());
        let tickets = self.tickets.iter().filter(|ticket| {
            filter.status.is_none_or(|status| ticket.status == status)
                && text.as_ref().is_none_or(|text| {
                    format!("{} {}", ticket.subject, ticket.text)
                        .to_lowercase()
                        .contains(text)
                })
        });
        Ok(json!({ "tickets": tickets.collect::<Vec<_>>() }))
    }

    fn find_ticket(&mut self, ticket: u32) -> Result<&mut Ticket, String> {
        let found = self.tickets.iter_mut().find(|it| it.ticket == ticket);
        found.ok_or_else(|| format!("there is no ticket {ticket}; list_tickets lists all"))
    }

    fn reply(&mut self, reply: Reply) -> ToolAnswer {
        let ticket = self.find_ticket(reply.ticket)?;
        if ticket.status == TicketStatus::Closed {
            return Err(format!("ticket {} is closed", ticket.ticket));
        }
        ticket.replies.push(reply.text);
        ticket.status = TicketStatus::Answered;
        Ok(json!(ticket))
    }
}
