//! Parts of pages: text of servers, numbers, times, tables, forms, empty states.

use std::time::Duration;

use kitbag_domain::text::{first_sentence, reveal_invisible};
use kitbag_domain::{Outcome, Timestamp};
use kitbag_gateway::state::clock::now;
use maud::{Markup, Render, html};

use super::visitor::{CSRF_FIELD, Visitor};

/// Renders text that somebody else wrote: escaped, invisible characters named, and apart from the
/// direction of the text around it.
pub(super) fn text(untrusted: &str) -> Markup {
    html! { bdi { (reveal_invisible(untrusted)) } }
}

/// Renders text of several lines that somebody else wrote.
pub(super) fn block_text(untrusted: &str) -> Markup {
    html! { pre.block { (reveal_invisible(untrusted)) } }
}

/// Like [`block_text`], for a text that may be so long that it scrolls, also with the keyboard.
pub(super) fn long_text(label: &str, untrusted: &str) -> Markup {
    html! { pre.block tabindex="0" role="region" aria-label=(label) { (reveal_invisible(untrusted)) } }
}

/// Renders the first sentence of a description that somebody else wrote.
pub(super) fn summary(untrusted: &str) -> Markup {
    text(&first_sentence(&reveal_invisible(untrusted)))
}

/// Renders a description that somebody else wrote; its line breaks stay.
pub(super) fn prose(untrusted: &str) -> Markup {
    html! { p.prose { (text(untrusted)) } }
}

/// Renders the name of a tool, server or file.
pub(super) fn code_text(name: &str) -> Markup {
    html! { code { (text(name)) } }
}

/// Formats an integer with thin spaces between groups of three digits.
pub(super) fn number(value: u64) -> String {
    let digits = value.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3 * 3);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            grouped.push('\u{202f}');
        }
        grouped.push(digit);
    }
    grouped
}

/// Formats a share as a percentage.
pub(super) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// Formats a duration to three digits.
pub(super) fn duration(took: Duration) -> String {
    let ms = took.as_secs_f64() * 1000.0;
    match ms {
        ..1.0 => format!("{ms:.2} ms"),
        ..100.0 => format!("{ms:.1} ms"),
        ..10_000.0 => format!("{ms:.0} ms"),
        ..120_000.0 => format!("{:.1} s", ms / 1000.0),
        _ => format!("{:.0} min", ms / 60_000.0),
    }
}

/// Renders a time as its distance from now; the exact time is a tooltip.
pub(super) fn time(at: Timestamp) -> Markup {
    let exact = exact_time(at);
    html! { time datetime=(exact) title=(exact) { (distance(at)) } }
}

/// Formats a time in UTC.
pub(super) fn exact_time(at: Timestamp) -> String {
    let at = jiff::Timestamp::from_millisecond(at.0).unwrap_or_default();
    at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}

fn distance(at: Timestamp) -> String {
    let (seconds, is_past) = match (now().0 - at.0) / 1000 {
        past @ 0.. => (past, true),
        future => (-future, false),
    };
    let amount = match seconds {
        i64::MIN..5 => return "now".to_owned(),
        5..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    };
    if is_past {
        format!("{amount} ago")
    } else {
        format!("in {amount}")
    }
}

/// A short state in colour and words.
#[derive(Debug, Clone, Copy)]
pub(super) enum Tone {
    Good,
    Warn,
    Bad,
    Neutral,
}

pub(super) fn pill(tone: Tone, label: impl Render) -> Markup {
    let class = match tone {
        Tone::Good => "pill good",
        Tone::Warn => "pill warn",
        Tone::Bad => "pill bad",
        Tone::Neutral => "pill",
    };
    html! { span class=(class) { (label) } }
}

pub(super) fn outcome_pill(outcome: Outcome) -> Markup {
    let tone = match outcome {
        Outcome::Ok => Tone::Good,
        Outcome::Unfinished | Outcome::Cancelled => Tone::Neutral,
        Outcome::Denied | Outcome::Invalid => Tone::Warn,
        _ => Tone::Bad,
    };
    pill(tone, outcome.as_str().replace('_', " "))
}

/// What to show and do where there is nothing yet.
pub(super) fn empty_state(what: &str, next: &Markup) -> Markup {
    html! { div.empty { p { strong { (what) } } p { (next) } } }
}

/// A key figure with its name.
pub(super) fn figure(name: &str, value: impl Render, note: &Markup) -> Markup {
    html! { div.figure { dt { (name) } dd { strong { (value) } small { (note) } } } }
}

/// Renders a table that scrolls by itself on a narrow screen. `rows` holds `tr` elements.
pub(super) fn table(caption: &str, heads: &[&str], rows: &Markup) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label=(caption) {
            table {
                caption.unseen { (caption) }
                thead { tr { @for head in heads {
                    // A head that begins with `#` is above numbers.
                    @match head.strip_prefix('#') {
                        Some(head) => th.number scope="col" { (head) },
                        None => th scope="col" { (head) },
                    }
                } } }
                tbody { (rows) }
            }
        }
    }
}

/// A part of the page that the script replaces when one of these topics changes.
pub(super) fn live(id: &str, topics: &str, content: &Markup) -> Markup {
    html! { div id=(id) data-live=(topics) { (content) } }
}

/// The field that proves that a form comes from our page.
pub(super) fn hidden_csrf(visitor: &Visitor) -> Markup {
    html! { input type="hidden" name=(CSRF_FIELD) value=(visitor.csrf); }
}

/// A form with one button and hidden values, such as "Restart". Readers do not see it.
pub(super) fn action_button(
    visitor: &Visitor,
    action: &str,
    label: &str,
    values: &[(&str, &str)],
) -> Markup {
    html! {
        @if visitor.is_admin() {
            form.inline method="post" action=(action) {
                (hidden_csrf(visitor))
                @for (name, value) in values { input type="hidden" name=(name) value=(value); }
                button { (label) }
            }
        }
    }
}

/// Like [`action_button`], for what cannot be undone: the person opens it and then confirms.
pub(super) fn confirmed_button(
    visitor: &Visitor,
    action: &str,
    label: &str,
    question: &str,
    values: &[(&str, &str)],
) -> Markup {
    html! {
        @if visitor.is_admin() {
            details.confirm {
                summary.button { (label) "…" }
                div.panel {
                    p { (text(question)) }
                    form method="post" action=(action) {
                        (hidden_csrf(visitor))
                        @for (name, value) in values { input type="hidden" name=(name) value=(value); }
                        button.danger { (label) }
                    }
                }
            }
        }
    }
}

/// Links to the first and the next page of a long list.
pub(super) fn pager(first: Option<&str>, next: Option<&str>) -> Markup {
    html! {
        @if first.is_some() || next.is_some() {
            nav.pager aria-label="More rows" {
                @if let Some(first) = first { a.button href=(first) { "First page" } }
                @if let Some(next) = next { a.button href=(next) rel="next" { "Next page" } }
            }
        }
    }
}

/// Returns a path that ends with a name, whatever characters it has.
pub(super) fn path_with(prefix: &str, name: &str) -> String {
    let mut path = prefix.to_owned();
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'~' => {
                path.push(char::from(byte));
            }
            _ => path.push_str(&format!("%{byte:02X}")),
        }
    }
    path
}

/// Returns a path with query parameters; empty values are left out.
pub(super) fn link(path: &str, parameters: &[(&str, &str)]) -> String {
    let given = parameters.iter().filter(|(_, value)| !value.is_empty());
    let query: String = url::form_urlencoded::Serializer::new(String::new())
        .extend_pairs(given)
        .finish();
    if query.is_empty() {
        path.to_owned()
    } else {
        format!("{path}?{query}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_servers_is_escaped_and_its_invisible_characters_are_named() {
        let rendered = text("<b onx='1'>a\u{202e}b\u{200b}\u{1b}[31m&").into_string();
        assert!(!rendered.contains("<b ") && !rendered.contains('\u{202e}'));
        assert!(rendered.contains("&lt;U+202E&gt;") && rendered.contains("&lt;U+001B&gt;"));
    }

    #[test]
    fn figures_are_short_and_grouped() {
        assert_eq!(number(1_234_567), "1\u{202f}234\u{202f}567");
        assert_eq!(number(999), "999");
        assert_eq!(duration(Duration::from_micros(250)), "0.25 ms");
        assert_eq!(duration(Duration::from_millis(12_345)), "12.3 s");
        assert_eq!(percent(0.1234), "12.3 %");
    }

    #[test]
    fn a_link_keeps_only_given_parameters() {
        assert_eq!(
            link("/ui/calls", &[("tool", "a b"), ("tenant", "")]),
            "/ui/calls?tool=a+b"
        );
        assert_eq!(link("/ui/calls", &[]), "/ui/calls");
    }

    #[test]
    fn a_name_in_a_path_is_one_segment() {
        assert_eq!(path_with("/ui/tools/", "git__log"), "/ui/tools/git__log");
        assert_eq!(
            path_with("/ui/tools/", "../a?b#ü"),
            "/ui/tools/%2E%2E%2Fa%3Fb%23%C3%BC"
        );
    }
}
