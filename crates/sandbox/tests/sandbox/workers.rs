//! Workers are shared fairly, serve one tenant each, and do not run in an open jail.

use std::sync::Arc;
use std::time::{Duration, Instant};

use kitbag_sandbox::{Isolation, Sandbox, SandboxSettings};
use serde_json::json;

use crate::harness::{
    ATTACKER, Bench, WORKER, command, only_worker, program, run, settings, tenant, value_or_error,
    workers,
};

#[tokio::test]
async fn all_layers_of_the_jail_hold_here() {
    for report in Sandbox::new(settings()).layers().await {
        assert_eq!(report.missing, None, "{}", report.layer);
    }
}

#[tokio::test]
async fn nothing_runs_in_an_open_jail_unless_the_operator_allows_it() {
    let mut open = SandboxSettings {
        worker: command(ATTACKER, &["seccomp"]),
        ..settings()
    };
    let refused = value_or_error(&run(&Sandbox::new(open.clone()), "return 1").await).unwrap_err();
    assert!(
        refused.contains("Landlock: missing (left open)"),
        "{refused}"
    );
    open.isolation = Isolation::BestEffort;
    assert_eq!(
        value_or_error(&run(&Sandbox::new(open), "return 1").await),
        Ok(json!(1))
    );
}

#[tokio::test]
async fn a_kernel_that_lacks_a_layer_runs_no_program_and_the_layer_is_named() {
    for (layer, attack, then) in [
        ("Landlock", "//attack read a file", "the jail forbids"),
        ("seccomp", "//attack read a file", "refused: "),
    ] {
        let mut lacking = SandboxSettings {
            worker: command(ATTACKER, &[&format!("without {layer}")]),
            ..settings()
        };
        let sandbox = Sandbox::new(lacking.clone());
        let refused = value_or_error(&run(&sandbox, "return 1").await).unwrap_err();
        let words = format!("the sandbox is incomplete: {layer}: missing (");
        assert!(refused.contains(&words), "{refused}");
        let missing = sandbox.layers().await.into_iter();
        let missing: Vec<_> = missing.filter(|it| it.missing.is_some()).collect();
        assert_eq!(missing.len(), 1, "{missing:?}");

        // If the operator allows it, the other layers hold by themselves.
        lacking.isolation = Isolation::BestEffort;
        let sandbox = Sandbox::new(lacking);
        assert_eq!(
            value_or_error(&run(&sandbox, "return 1").await),
            Ok(json!(1))
        );
        let text = match value_or_error(&run(&sandbox, attack).await) {
            Ok(value) => value.to_string(),
            Err(sentence) => sentence,
        };
        assert!(text.contains(then), "{layer}: {text}");
    }
}

#[tokio::test]
async fn a_worker_that_cannot_be_started_is_a_clear_sentence() {
    for (program, arguments, words) in [
        (
            "/no/such/worker",
            &[][..],
            "/no/such/worker could not be started",
        ),
        ("/bin/true", &[], "it exited with 0"),
        ("/bin/echo", &["not", "a", "worker"], "ended"),
    ] {
        let sandbox = Sandbox::new(SandboxSettings {
            worker: command(program, arguments),
            ..settings()
        });
        let text = value_or_error(&run(&sandbox, "return 1").await).unwrap_err();
        assert!(
            text.starts_with("programs cannot run here") && text.contains(words),
            "{text}"
        );
    }
}

#[tokio::test]
async fn a_run_that_is_dropped_is_killed() {
    let sandbox = Sandbox::new(SandboxSettings {
        warm: 0,
        ..settings()
    });
    let bench = Bench::default();
    let owner = tenant("acme");
    let run = sandbox.run(&owner, program("await tools.bench.meet()"), &bench);
    tokio::select! {
        outcome = run => panic!("{outcome:?}"),
        () = bench.wait_for_call() => {}
    }
    while !workers().is_empty() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn the_time_in_which_a_user_is_asked_is_not_counted() {
    let mut hasty = settings();
    hasty.budget.wall = Duration::from_secs(4);
    let sandbox = Sandbox::new(hasty);
    assert_eq!(
        value_or_error(&run(&sandbox, "return tools.bench.ask_person()").await),
        Ok(json!("yes"))
    );
}

#[tokio::test]
async fn a_run_that_finds_no_worker_in_time_reports_it() {
    let mut small = settings();
    small.most = 1;
    small.budget.wall = Duration::from_secs(4);
    let sandbox = Sandbox::new(small);
    let bench = Bench::default();
    let long = program("tools.bench.ask_person(); await tools.bench.never()");
    let owner = tenant("acme");
    let long = sandbox.run(&owner, long, &bench);
    let (_, second) = tokio::join!(long, run(&sandbox, "return 1"));
    assert_eq!(
        value_or_error(&second).unwrap_err(),
        "all 1 workers are busy; try again later"
    );
}

#[tokio::test]
async fn a_tenant_that_floods_the_sandbox_does_not_shut_others_out() {
    let sandbox = Sandbox::new(settings());
    let attacks = [
        "while (true);",
        "const l = []; for (;;) l.push({})",
        "for (;;) call('echo')",
        "await tools.bench.never()",
    ];
    let flood: Vec<_> = (0..40)
        .map(|number| attack(&sandbox, attacks[number % attacks.len()]))
        .collect();
    let began = Instant::now();
    for _ in 0..10 {
        assert_eq!(
            value_or_error(&run(&sandbox, "return (await tools.bench.issues()).total").await),
            Ok(json!(2))
        );
    }
    let took = began.elapsed();
    assert!(
        took < Duration::from_secs(60),
        "ten runs took {took:?} during the flood"
    );
    flood.iter().for_each(tokio::task::JoinHandle::abort);
}

fn attack(sandbox: &Sandbox, source: &'static str) -> tokio::task::JoinHandle<()> {
    let sandbox = sandbox.clone();
    tokio::spawn(async move {
        sandbox
            .run(&tenant("mallory"), program(source), &Bench::default())
            .await;
    })
}

#[tokio::test]
async fn many_runs_at_once_are_all_answered() {
    let sandbox = Sandbox::new(settings());
    let bench = Arc::new(Bench::default());
    let runs: Vec<_> = (0..200)
        .map(|number| tokio::spawn(numbered(sandbox.clone(), bench.clone(), number)))
        .collect();
    for (number, run) in runs.into_iter().enumerate() {
        assert_eq!(run.await.unwrap(), Ok(json!(number)));
    }
}

async fn numbered(
    sandbox: Sandbox,
    bench: Arc<Bench>,
    number: usize,
) -> Result<serde_json::Value, String> {
    let source = format!("return (await call('echo', {{ n: {number} }})).arguments.n");
    let owner = tenant(&format!("tenant-{}", number % 5));
    value_or_error(&sandbox.run(&owner, program(&source), &*bench).await)
}

#[tokio::test]
async fn a_worker_is_kept_for_its_tenant_and_ended_when_another_needs_the_slot() {
    let sandbox = Sandbox::new(SandboxSettings {
        worker: command(WORKER, &[]),
        most: 1,
        ..settings()
    });
    let mut seen = Vec::new();
    for who in ["a", "a", "b"] {
        let outcome = sandbox
            .run(&tenant(who), program("return 1"), &Bench::default())
            .await;
        assert_eq!(value_or_error(&outcome), Ok(json!(1)));
        seen.push(only_worker().await);
    }
    assert!(seen[0] == seen[1] && seen[1] != seen[2], "{seen:?}");
}
