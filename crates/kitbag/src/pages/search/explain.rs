//! One request and its answer: the tools as a model sees them, and the reasons for their order.

use kitbag_domain::Tenant;
use kitbag_gateway::admin::search::{FoundTool, SearchResult};
use kitbag_relevance::Confidence;
use kitbag_relevance::learning::Neighbour;
use kitbag_store::LessonInfo;
use maud::{Markup, html};

use super::Answer;
use crate::cli::output::pluralize;
use crate::pages::elements::{
    Tone, block_text, code_text, empty_state, hidden_csrf, percent, pill, text, time,
};
use crate::pages::learned::{lessons_path, signal_text};
use crate::pages::tools::{effect_pill, tool_path};
use crate::pages::visitor::Visitor;

/// More lessons repeat the first.
const MAX_NEIGHBOURS: usize = 5;

pub(super) fn render_answer(
    visitor: &Visitor,
    tenant: &Tenant,
    answer: &Answer,
    back: &str,
) -> Markup {
    let result = &answer.result;
    html! {
        section.answer {
            h2 { (text(&answer.query)) }
            (confidence(result))
            @for note in [&result.warning, &result.doubt].into_iter().flatten() {
                p.notice.warn { (text(note)) }
            }
            @if let Some(corrected) = &result.corrected { p { "Searched for: " (text(corrected)) } }
            @if result.found.is_empty() {
                (empty_state("No tool fits", &html! { "Use other words, or " a href="/ui/servers" { "add a server" } "." }))
            }
            ol.results { @for found in &result.found { li.card {
                (render_tool(answer, found))
                (mark_buttons(visitor, tenant, answer, found, back))
            } } }
            (withheld(result))
        }
    }
}

fn confidence(result: &SearchResult) -> Markup {
    let Some(Confidence { first, any }) = result.confidence else {
        return html! { p.muted { "How likely the answer is right is not known for this request." } };
    };
    let share = |share: f32| percent(f64::from(share));
    html! {
        p.row {
            @if any >= 0.5 { (pill(Tone::Good, "likely right")) } @else { (pill(Tone::Warn, "doubtful")) }
            span { "The first is right with " (share(first)) ", one of the first five with " (share(any)) "." }
        }
    }
}

fn render_tool(answer: &Answer, found: &FoundTool) -> Markup {
    let is_tool = answer.tools.contains(&found.tool_name);
    html! {
        p.row {
            strong {
                // An HTTP API is found like a tool, but has no page of its own.
                @if is_tool { a href=(tool_path(&found.tool_name)) { (code_text(&found.tool_name)) } }
                @else { (code_text(&found.tool_name)) }
            }
            (effect_pill(found.write_class))
            span.score { "score " strong { (format!("{:.2}", found.score)) } }
        }
        (block_text(&found.line))
        (parts(found))
        @if !found.also.is_empty() {
            p { small { "Also: " @for name in &found.also { (code_text(name)) " " } } }
        }
        (neighbours(answer, found))
    }
}

/// The parts of a score as meters with numbers.
fn parts(found: &FoundTool) -> Markup {
    let parts = &found.parts;
    let named = [
        ("Words", parts.lexical),
        ("Meaning", parts.dense),
        ("Steps", parts.steps),
        ("Named", parts.named),
        ("Learned", parts.learned),
        ("Priors", parts.priors),
    ];
    html! {
        dl.parts { @for (name, part) in named {
            @if part != 0.0 || matches!(name, "Words" | "Meaning" | "Learned") {
                div {
                    dt { (name) }
                    dd {
                        meter class=[(part < 0.0).then_some("negative")] min="0" max="1"
                            value=(format!("{:.3}", part.abs().min(1.0))) aria-label={ (name) } {}
                        span.number { (format!("{part:+.3}")) }
                    }
                }
            }
        } }
        p.muted { small {
            @if let Some(cosine) = found.cosine { "Cosine " (format!("{cosine:.2}")) ". " }
            @if let Some(rate) = found.priors.success_rate { "Success " (percent(rate)) ". " }
            @if let Some(latency) = found.priors.p95_latency_ms { "95 % within " (latency) " ms. " }
            @if let Some(cost) = found.priors.estimated_cost_usd { "$" (cost) " per call. " }
            (text(&found.kind))
        } }
    }
}

fn neighbours(answer: &Answer, found: &FoundTool) -> Markup {
    if found.neighbours.is_empty() {
        return html! {};
    }
    html! {
        details {
            summary { (pluralize(found.neighbours.len(), "past use")) " voted" }
            ul { @for neighbour in found.neighbours.iter().take(MAX_NEIGHBOURS) {
                li { (render_neighbour(neighbour, &answer.lessons)) }
            } }
            p { a href=(lessons_path(&found.tool_name)) { "All lessons about this tool" } }
        }
    }
}

fn render_neighbour(neighbour: &Neighbour, lessons: &[LessonInfo]) -> Markup {
    let lesson = lessons.iter().find(|lesson| lesson.id == neighbour.id);
    let (similarity, weight) = (neighbour.similarity, neighbour.weight);
    html! {
        (signal_text(neighbour.signal.as_str()))
        @if let Some(lesson) = lesson {
            @if let Some(words) = &lesson.words { ": “" (text(words)) "”" }
            ", " (time(lesson.at))
        }
        small { " · lesson " (neighbour.id) " · " (format!("{similarity:.2} alike · weight {weight:+.2}")) }
    }
}

fn mark_buttons(
    visitor: &Visitor,
    tenant: &Tenant,
    answer: &Answer,
    found: &FoundTool,
    back: &str,
) -> Markup {
    if !visitor.is_admin() {
        return html! {};
    }
    let values = [
        ("tool", found.tool_name.as_str()),
        ("query", &answer.query),
        ("tenant", tenant.as_str()),
        ("back", back),
    ];
    html! {
        form.row method="post" action="/ui/search/mark" {
            (hidden_csrf(visitor))
            @for (name, value) in values { input type="hidden" name=(name) value=(value); }
            small { "For this request, the tool is" }
            @for mark in ["right", "wrong"] {
                button name="mark" value=(mark) aria-label={ (found.tool_name) " is " (mark) } { (mark) }
            }
        }
    }
}

fn withheld(result: &SearchResult) -> Markup {
    if result.withheld_tools.is_empty() {
        return html! {};
    }
    html! {
        h3 { "Withheld" }
        ul { @for tool in &result.withheld_tools {
            li { a href=(tool_path(&tool.tool_name)) { (code_text(&tool.tool_name)) } ": " (tool.reason.as_str()) }
        } }
    }
}
