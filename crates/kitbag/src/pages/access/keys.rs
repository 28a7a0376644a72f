//! Keys: listed, created, rotated and revoked. A secret is shown once.

use std::time::Duration;

use anyhow::anyhow;
use axum::Form;
use axum::extract::{Path, State};
use axum::response::Response;
use kitbag_domain::{Action, Event, KeyId, Role, ShortText, Tenant, Timestamp};
use kitbag_gateway::state::clock::now;
use kitbag_store::{KeyInfo, KeySpec, NewKey, Store};
use maud::{Markup, html};
use serde::Deserialize;

use super::{ACCESS, AccessQuery};
use crate::cli::key::{
    describe_holder, describe_state, new_key_spec, tenant_of_role, unknown_tenant_warning,
};
use crate::cli::moment::{parse_duration, parse_end};
use crate::cli::output::pluralize;
use crate::key_check::is_active;
use crate::pages::Pages;
use crate::pages::elements::{
    Tone, code_text, confirmed_button, empty_state, hidden_csrf, link, pager, pill, table, text,
    time,
};
use crate::pages::notice::Notice;
use crate::pages::visitor::Visitor;
use crate::trail;

const PER_PAGE: usize = 100;
/// A key that ends sooner is marked.
const ENDS_SOON: i64 = 7 * 24 * 60 * 60 * 1000;

/// All keys, newest first.
pub(super) struct ListedKeys(pub(super) Vec<KeyInfo>);

impl ListedKeys {
    pub(super) async fn read(store: &Store) -> anyhow::Result<Self> {
        let mut keys = store.list_keys().await?;
        keys.reverse();
        Ok(Self(keys))
    }
}

#[derive(Deserialize)]
pub(super) struct NewKeyForm {
    role: String,
    #[serde(default)]
    tenant: String,
    #[serde(default)]
    label: String,
    /// A duration such as `90d`, or a date.
    #[serde(default)]
    expires: String,
}

#[derive(Deserialize)]
pub(super) struct RotateForm {
    #[serde(default)]
    grace: String,
}

pub(super) fn render_form(visitor: &Visitor) -> Markup {
    html! {
        div.row { details.confirm {
            summary.button { "Create a key…" }
            div.panel {
                form.stack method="post" action="/ui/access/keys" {
                    (hidden_csrf(visitor))
                    label { "Role" select name="role" {
                        option value="user" { "user: calls tools for a tenant" }
                        option value="operator" { "operator: reads figures of all tenants, and these pages" }
                        option value="admin" { "admin: reads, and makes changes on these pages" }
                    } }
                    label { "Tenant, for the role user" input name="tenant" autocomplete="off" autocapitalize="off" placeholder="local"; }
                    label { "Label" input name="label" autocomplete="off" placeholder="build machine"; }
                    label { "Ends after a duration such as 90d, or on a date" input name="expires" autocomplete="off" placeholder="never"; }
                    p { button.primary { "Create key" } }
                }
            }
        } }
    }
}

pub(super) fn render_list(keys: &ListedKeys, query: &AccessQuery, visitor: &Visitor) -> Markup {
    let shows_ended = query.ended.is_some();
    let shown = || keys.0.iter().filter(|key| shows_ended || is_active(key));
    let (all, ended) = (
        shown().count(),
        keys.0.iter().filter(|key| !is_active(key)).count(),
    );
    let page_at = |skip: usize| {
        let (skip, ended) = (skip.to_string(), if shows_ended { "yes" } else { "" });
        link(
            ACCESS,
            &[
                ("ended", ended),
                ("skip", if skip == "0" { "" } else { &skip }),
            ],
        )
    };
    let next = query.skip.saturating_add(PER_PAGE);
    let rows = html! { @for key in shown().skip(query.skip).take(PER_PAGE) { (render_key(key, visitor)) } };
    html! {
        @if all == 0 {
            (empty_state("No active keys.", &html! {
                "Clients on this machine need none, unless the configuration requires keys. To create one: "
                code { "kitbag key create --tenant acme" }
            }))
        } @else {
            (table("Keys", &["ID", "Role", "Tenant", "Label", "Created", "Last used", "State", "Change"], &rows))
            (pager((query.skip > 0).then(|| page_at(0)).as_deref(), (next < all).then(|| page_at(next)).as_deref()))
        }
        @if ended > 0 {
            p { @if shows_ended { a href=(ACCESS) { "Show active keys only" } }
                @else { a href=(link(ACCESS, &[("ended", "yes")])) { "Show " (pluralize(ended, "ended key")) ", too" } } }
        }
    }
}

fn render_key(key: &KeyInfo, visitor: &Visitor) -> Markup {
    let action = |what: &str| format!("/ui/access/keys/{}/{what}", key.id);
    let ends_soon = key
        .expires_at
        .is_some_and(|end| end.0 - now().0 < ENDS_SOON);
    let tone = match is_active(key) {
        false => Tone::Neutral,
        true if ends_soon => Tone::Warn,
        true => Tone::Good,
    };
    html! { tr {
        th.nowrap scope="row" { (code_text(&key.id.0)) }
        td { (key.role.as_str()) }
        td { @match tenant_of_role(key.role, &key.tenant) { Some(tenant) => (text(tenant.as_str())), None => span.muted { "all" } } }
        td { @if let Some(label) = &key.label { (text(label)) } }
        td { (time(key.created_at)) }
        td { @match key.last_used_at { Some(at) => (time(at)), None => span.muted { "never" } } }
        td { (pill(tone, describe_state(key, now()))) }
        td { @if is_active(key) && visitor.is_admin() {
            details.confirm {
                summary.button { "Rotate…" }
                div.panel { form.stack method="post" action=(action("rotate")) {
                    (hidden_csrf(visitor))
                    label { "The old key works for another" input name="grace" value="1h" autocomplete="off"; }
                    p { button.primary { "Rotate" } }
                } }
            }
            " "
            (confirmed_button(visitor, &action("revoke"), "Revoke", "Clients with this key are rejected at once. This cannot be undone.", &[]))
        } }
    } }
}

pub(super) async fn create(
    State(pages): State<Pages>,
    visitor: Visitor,
    Form(form): Form<NewKeyForm>,
) -> Response {
    match create_key(&pages, &visitor, &form).await {
        Ok(notice) => visitor.redirect_with_notice(ACCESS, notice),
        Err(error) => visitor.redirect(ACCESS, Err(error)),
    }
}

async fn create_key(pages: &Pages, visitor: &Visitor, form: &NewKeyForm) -> anyhow::Result<Notice> {
    let given = |text: &str| Some(text.trim().to_owned()).filter(|it| !it.is_empty());
    let role: Role = form
        .role
        .parse()
        .map_err(|_| anyhow!("unknown role `{}`", form.role))?;
    let tenant = given(&form.tenant)
        .map(|it| it.parse::<Tenant>())
        .transpose()?;
    let expires = given(&form.expires).map(|it| parse_end(&it)).transpose()?;
    let spec = KeySpec {
        label: given(&form.label),
        expires_at: expires,
        ..new_key_spec(role, tenant)?
    };
    let gateway = pages.gateway();
    let key = gateway.services.store.create_key(&spec, now()).await?;
    record(pages, visitor, Action::KeyCreated, &key.id, &spec, None).await?;
    let mut notice = describe_new(&key, &spec, "");
    if let Some(warning) = unknown_tenant_warning(&pages.source.load()?, &spec) {
        notice += &format!(" But {warning}.");
    }
    Ok(secret_notice(notice, &key))
}

pub(super) async fn rotate(
    State(pages): State<Pages>,
    Path(id): Path<String>,
    visitor: Visitor,
    Form(form): Form<RotateForm>,
) -> Response {
    match rotate_key(&pages, &visitor, KeyId(id), &form).await {
        Ok(notice) => visitor.redirect_with_notice(ACCESS, notice),
        Err(error) => visitor.redirect(ACCESS, Err(error)),
    }
}

async fn rotate_key(
    pages: &Pages,
    visitor: &Visitor,
    id: KeyId,
    form: &RotateForm,
) -> anyhow::Result<Notice> {
    let grace = match form.grace.trim() {
        "" => Duration::ZERO,
        grace => parse_duration(grace)?,
    };
    let gateway = pages.gateway();
    let rotated = gateway
        .services
        .store
        .rotate_key(&id, grace, None, now())
        .await?;
    let rotated = rotated.ok_or_else(|| anyhow!("no active key `{id}`"))?;
    let detail = format!("replaces {id}");
    record(
        pages,
        visitor,
        Action::KeyRotated,
        &rotated.key.id,
        &rotated.spec,
        Some(&detail),
    )
    .await?;
    let ends = match grace.is_zero() {
        true => format!(", replacing {id}, which no longer works"),
        false => format!(
            ", replacing {id}, which works until {}",
            utc(rotated.former_ends_at)
        ),
    };
    Ok(secret_notice(
        describe_new(&rotated.key, &rotated.spec, &ends),
        &rotated.key,
    ))
}

pub(super) async fn revoke(
    State(pages): State<Pages>,
    Path(id): Path<String>,
    visitor: Visitor,
) -> Response {
    let outcome = async {
        let (gateway, id) = (pages.gateway(), KeyId(id));
        let store = &gateway.services.store;
        let keys = store.list_keys().await?;
        let key = keys.into_iter().find(|key| key.id == id);
        if !store.revoke_key(&id, now()).await? {
            return Err(anyhow!("no key `{id}` to revoke"));
        }
        let of = key.and_then(|key| tenant_of_role(key.role, &key.tenant));
        let event = visitor.change_event(Action::KeyRevoked, &id.0, of);
        trail::record_event(
            store,
            Event {
                key: Some(id.clone()),
                ..event
            },
        )
        .await?;
        Ok(format!("Revoked key {id}."))
    };
    visitor.redirect(ACCESS, outcome.await)
}

async fn record(
    pages: &Pages,
    visitor: &Visitor,
    action: Action,
    id: &KeyId,
    spec: &KeySpec,
    detail: Option<&str>,
) -> anyhow::Result<()> {
    let of = tenant_of_role(spec.role, &spec.tenant);
    let event = Event {
        key: Some(id.clone()),
        detail: detail.map(ShortText::truncate),
        ..visitor.change_event(action, &id.0, of)
    };
    trail::record_event(&pages.gateway().services.store, event).await
}

fn describe_new(key: &NewKey, spec: &KeySpec, ends: &str) -> String {
    let (id, holder) = (&key.id, describe_holder(spec));
    format!("Key {id} {holder}{ends}. Save it now: it is not stored and cannot be shown again.")
}

fn secret_notice(label: String, key: &NewKey) -> Notice {
    Notice::Secret {
        label,
        secret: key.token.reveal().to_owned(),
    }
}

fn utc(at: Timestamp) -> String {
    crate::pages::elements::exact_time(at)
}
