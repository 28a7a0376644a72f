//! The server `calendar`: events of the staff, and free time between them.

use jiff::ToSpan as _;
use jiff::civil::{Date, DateTime, Time};
use kitbag_tool_server::ToolAnswer;
use kitbag_wire::RawObject;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::with_arguments;

/// The working hours in which free time is looked for.
const OPENING: i8 = 9;
const CLOSING: i8 = 18;

#[derive(Debug, Deserialize)]
pub(crate) struct Calendar {
    events: Vec<Event>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Event {
    #[serde(default)]
    event: u32,
    title: String,
    date: Date,
    #[serde(with = "minutes")]
    start: Time,
    #[serde(with = "minutes")]
    end: Time,
}

#[derive(Deserialize)]
struct Day {
    date: Option<Date>,
}

#[derive(Deserialize)]
struct EventNumber {
    event: u32,
}

#[derive(Deserialize)]
struct WantedSlot {
    date: Date,
    minutes: u16,
}

impl Calendar {
    /// Answers a call; `None` if there is no such tool.
    pub(crate) fn call(&mut self, tool: &str, arguments: &RawObject) -> Option<ToolAnswer> {
        Some(match tool {
            "list_events" => with_arguments(arguments, |Day { date }| {
                let events = self.events.iter();
                let events = events.filter(|event| date.is_none_or(|date| event.date == date));
                Ok(json!({ "events": events.collect::<Vec<_>>() }))
            }),
            "create_event" => with_arguments(arguments, |event| self.create_event(event)),
            "cancel_event" => with_arguments(arguments, |EventNumber { event }| {
                let position = self.events.iter().position(|it| it.event == event);
                let position = position.ok_or_else(|| format!("there is no event {event}"))?;
                Ok(json!(self.events.remove(position)))
            }),
            "find_free_slot" => with_arguments(arguments, |slot| self.find_free_slot(&slot)),
            _ => return None,
        })
    }

    fn create_event(&mut self, mut event: Event) -> ToolAnswer {
        if event.end <= event.start {
            return Err("`end` must be after `start`".to_owned());
        }
        let mut events = self.events.iter();
        if let Some(other) = events.find(|other| other.overlaps(&event)) {
            let (start, end) = (event.start.strftime("%H:%M"), event.end.strftime("%H:%M"));
            return Err(format!("{start}–{end} overlaps `{}`", other.title));
        }
        let last = self.events.iter().map(|it| it.event).max();
        event.event = last.unwrap_or_default() + 1;
        let answer = json!(event);
        self.events.push(event);
        Ok(answer)
    }

    /// Finds the first free time of the day that is long enough.
    fn find_free_slot(&self, wanted: &WantedSlot) -> ToolAnswer {
        let mut events: Vec<&Event> = self
            .events
            .iter()
            .filter(|event| event.date == wanted.date)
            .collect();
        events.sort_by_key(|event| event.start);
        let length = i64::from(wanted.minutes).minutes();
        let mut start = wanted.date.at(OPENING, 0, 0, 0);
        let closing = wanted.date.at(CLOSING, 0, 0, 0);
        for event in events {
            if start + length <= wanted.date.to_datetime(event.start) {
                break;
            }
            start = start.max(wanted.date.to_datetime(event.end));
        }
        match start + length {
            end if end <= closing => Ok(slot(start, end)),
            _ => Err(format!(
                "no {} minutes are free on {}",
                wanted.minutes, wanted.date
            )),
        }
    }
}

impl Event {
    fn overlaps(&self, other: &Self) -> bool {
        self.date == other.date && self.start < other.end && other.start < self.end
    }
}

fn slot(start: DateTime, end: DateTime) -> Value {
    json!({
        "date": start.date(),
        "start": start.strftime("%H:%M").to_string(),
        "end": end.strftime("%H:%M").to_string(),
    })
}

/// Times as `HH:MM`.
mod minutes {
    use jiff::civil::Time;
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(time: &Time, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&time.strftime("%H:%M"))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Time, D::Error> {
        let text = String::deserialize(from)?;
        Time::strptime("%H:%M", &text).map_err(D::Error::custom)
    }
}
