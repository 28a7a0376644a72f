//! The curve of searches that clients need for one successful call.

use std::time::Duration;

use kitbag_gateway::admin::search_curve::SearchDay;
use kitbag_gateway::state::clock::now;
use maud::{Markup, html};

use crate::pages::Pages;
use crate::pages::chart::{Bar, bars};
use crate::pages::elements::{exact_time, figure, number};

const DAYS: u32 = 30;
/// The page does not wait longer; the rest is counted in the background.
const COUNTING_TIME: Duration = Duration::from_millis(100);

pub(super) async fn section(pages: &Pages) -> anyhow::Result<Markup> {
    let (gateway, curve) = (pages.gateway(), pages.app.search_curve());
    let store = &gateway.services.store;
    let counted = curve.count_days(store, DAYS, now(), COUNTING_TIME).await?;
    if !counted.is_complete {
        curve.count_in_background(store, DAYS, now());
    }
    let days = &counted.days;
    let (searches, calls) = days.iter().fold((0, 0), |(searches, calls), day| {
        (searches + day.searches, calls + day.calls)
    });
    let ratio = |searches: u64, calls: u64| match calls {
        0 => "–".to_owned(),
        _ => format!("{:.2}", searches as f64 / calls as f64),
    };
    let bars_of: Vec<Bar> = days.iter().map(to_bar).collect();
    Ok(html! {
        dl.figures {
            (figure("Searches per call", ratio(searches, calls), &html! { "the fewer, the more was learned" }))
            (figure("Searches", number(searches), &html! { "by clients, in " (days.len()) " days" }))
            (figure("Successful calls", number(calls), &html! { "by clients, in " (days.len()) " days" }))
        }
        @if searches + calls > 0 {
            (bars("Searches per successful call, by day (UTC)", &["searches per call"], &bars_of))
        }
        @if !counted.is_complete { p.muted role="status" { "Earlier days are being counted. Open this page again in a moment." } }
    })
}

fn to_bar(day: &SearchDay) -> Bar {
    Bar {
        label: exact_time(day.start()).chars().take(10).collect(),
        parts: vec![day.searches_per_call().unwrap_or_default()],
    }
}
