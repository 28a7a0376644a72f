//! Tests of the figures: they are separated by tenant and bounded in number.

use kitbag_domain::{CallCost, Caller, Capability, Origin, Purpose, Timestamp};

use super::*;

fn tenant(name: &str) -> Tenant {
    name.parse().unwrap()
}

fn client<'a>(tenant: &'a Tenant, session: Option<&'a Arc<str>>) -> MeteredClient<'a> {
    MeteredClient {
        tenant,
        name: Some("zed"),
        session,
    }
}

#[test]
fn a_tenant_sees_only_its_own_figures() {
    let mut tables = UsageFigures::default();
    let (acme, globex) = (tenant("acme"), tenant("globex"));
    tables.record_answer(&client(&acme, Some(&"one".into())), "git__log", 10);
    tables.record_answer(&client(&globex, Some(&"two".into())), "git__log", 99);
    tables.record_list(
        &client(&globex, None),
        "search",
        ListFigures::for_list(400, 90_000),
    );
    let own = tables.for_tenant(&"acme".parse().unwrap(), |_, _| true);
    assert_eq!(
        (own.surfaces.len(), own.tools.len(), own.clients.len()),
        (0, 1, 1)
    );
    assert!(own.tools.values().all(|tool| tool.returned == 10));
}

#[test]
fn lists_are_counted_by_hour_for_a_day() {
    let mut tables = UsageFigures::default();
    let acme = tenant("acme");
    let listed = ListFigures::for_list(400, 90_000);
    for minute in [0, 59, 60, 24 * 60 + 1] {
        tables.record_list_of_hour(&acme, Timestamp(minute * 60_000), listed);
    }
    let mut hours: Vec<_> = tables
        .hours
        .iter()
        .map(|((_, hour), it)| (*hour, it.lists))
        .collect();
    hours.sort_unstable();
    assert_eq!(hours, [(1, 1), (24, 1)]);
}

fn observation(tool: &str, outcome: Outcome) -> Observation {
    Observation {
        at: Timestamp(0),
        caller: Caller {
            tenant: tenant("acme"),
            ..Caller::local()
        },
        client: None,
        origin: Origin::default(),
        purpose: Purpose::Use,
        capability: Capability::tool("fin".parse().unwrap(), tool),
        outcome,
        latency: Duration::from_millis(1),
        cost: CallCost::default(),
        arguments: None,
    }
}

#[test]
fn calls_of_hidden_tools_are_counted_like_calls_of_unknown_ones() {
    let mut tables = UsageFigures::default();
    tables.record_call(&observation("payroll", Outcome::Denied), "fin__payroll");
    tables.record_call(&observation("nothing", Outcome::Invalid), UNKNOWN);
    tables.record_call(&observation("report", Outcome::Ok), "fin__report");
    let own = tables.for_tenant(&"acme".parse().unwrap(), |name, _| name != "fin__payroll");
    let rows: Vec<_> = own
        .tool_series(true)
        .into_iter()
        .map(|it| {
            (
                it.server,
                it.tool.unwrap().to_string(),
                it.figures.calls.outcomes().collect(),
            )
        })
        .collect::<Vec<(String, String, Vec<_>)>>();
    assert_eq!(
        rows,
        [
            (
                String::new(),
                UNKNOWN.to_owned(),
                vec![(Outcome::Invalid, 2)]
            ),
            (
                "fin".to_owned(),
                "fin__report".to_owned(),
                vec![(Outcome::Ok, 1)]
            ),
        ]
    );
}

#[test]
fn tools_of_one_server_share_a_series_unless_requested_per_tool() {
    let mut tables = UsageFigures::default();
    for tool in ["a", "b", "c"] {
        tables.record_call(&observation(tool, Outcome::Ok), &format!("fin__{tool}"));
    }
    let together = tables.tool_series(false);
    assert_eq!((together.len(), tables.tool_series(true).len()), (1, 3));
    assert_eq!(
        (
            together[0].server.as_str(),
            together[0].figures.calls.count()
        ),
        ("fin", 3)
    );
}

#[test]
fn client_names_cannot_fill_the_memory() {
    let (mut tables, acme) = (UsageFigures::default(), tenant("acme"));
    for number in 0..MAX_TOOLS + 10 {
        let session = format!("session {number}").into();
        let visitor = client(&acme, Some(&session));
        tables.record_answer(&visitor, &format!("tool {number}"), 1);
    }
    assert_eq!(
        (tables.tools.len(), tables.clients.len()),
        (MAX_TOOLS + 1, MAX_CLIENTS)
    );
    assert_eq!(
        tables.tools[&("acme".parse().unwrap(), OTHERS.into())].returned,
        10
    );
    assert!(tables.clients.contains_key(&ClientId::Session(
        format!("session {}", MAX_TOOLS + 9).into()
    )));
}

#[test]
fn a_latency_is_counted_in_its_bucket() {
    let mut called = CallFigures::default();
    for (milliseconds, outcome) in [
        (3, Outcome::Ok),
        (5, Outcome::Ok),
        (90_000, Outcome::TimedOut),
    ] {
        called.add(outcome, Duration::from_millis(milliseconds));
    }
    assert_eq!(
        (called.latencies[0], called.latencies[BUCKETS.len()]),
        (2, 1)
    );
    assert_eq!(
        called.outcomes().collect::<Vec<_>>(),
        [(Outcome::Ok, 2), (Outcome::TimedOut, 1)]
    );
}
