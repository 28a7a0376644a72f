//! Tests whether a tenant or key may use a tool, and names the rule that decides.

use kitbag_domain::{Caller, KeyId, Tenant};
use kitbag_gateway::admin::app::{AccessDecision, AccessOutcome};
use maud::{Markup, html};

use super::{ACCESS, AccessQuery, failure};
use crate::cli::key::find_caller;
use crate::cli::tools::access::{caller_of_tenant, describe_outcome};
use crate::pages::Pages;
use crate::pages::elements::{Tone, code_text, pill, text};

pub(super) async fn render(pages: &Pages, query: &AccessQuery) -> Markup {
    let (who, tool) = (query.who.trim(), query.tool.trim());
    let decision = match tool.is_empty() {
        true => None,
        false => Some(decide(pages, who, tool).await),
    };
    html! {
        form.filter method="get" action={ (ACCESS) "#tester" } {
            label { "Tenant or key ID" input name="who" value=(who) autocomplete="off" autocapitalize="off" placeholder="this machine"; }
            label.wide { "Tool" input name="tool" value=(tool) required autocomplete="off" spellcheck="false" placeholder="github__create_issue"; }
            button { "Test" }
        }
        @match decision {
            None => p.muted { "The same on the command line: " code { "kitbag tools access TOOL --tenant NAME" } },
            Some(Ok(decision)) => (render_decision(&decision)),
            Some(Err(error)) => (failure(&error)),
        }
    }
}

async fn decide(pages: &Pages, who: &str, tool: &str) -> anyhow::Result<AccessDecision> {
    let gateway = pages.gateway();
    let caller = match who {
        "" => Caller::local(),
        who => {
            let key = KeyId(who.to_owned());
            match (
                find_caller(&gateway.services.store, &key).await,
                who.parse::<Tenant>(),
            ) {
                (Ok(caller), _) => caller,
                // A key that has ended is no name of a tenant, either.
                (Err(error), _) if !error.to_string().starts_with("no key") => return Err(error),
                (Err(_), tenant) => caller_of_tenant(tenant?),
            }
        }
    };
    Ok(pages.app.explain_access(&caller, tool))
}

fn render_decision(decision: &AccessDecision) -> Markup {
    let tone = match decision.outcome {
        AccessOutcome::Allowed => Tone::Good,
        AccessOutcome::Denied | AccessOutcome::Hidden => Tone::Bad,
        AccessOutcome::Unapproved | AccessOutcome::Unknown => Tone::Warn,
    };
    html! {
        div.card role="status" {
            p { (code_text(&decision.tool)) " " (pill(tone, describe_outcome(decision.outcome))) }
            @if let Some(reason) = &decision.reason { p { (text(reason)) } }
            @if !decision.is_listed && decision.outcome != AccessOutcome::Unknown { p.muted { "No server lists this tool; the rules apply to it all the same." } }
        }
    }
}
