//! Third-party servers behind the gateway and third-party clients in front of it, over HTTP and stdio.
//!
//! We wrote neither side, so these tests show misreadings of the protocol that our own client and server
//! would share.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

mod agents;
mod broken;
mod clients;
mod code;
mod driver;
mod eval_tasks;
mod gateway;
mod metrics;
mod models;
mod newcomer;
mod processes;
mod servers;
mod surfaces;
mod templates;

use clients::{Client, INSPECTOR, PYTHON, PYTHON_LEGACY, TYPESCRIPT, TYPESCRIPT_MODERN};
use driver::{Driver, Event, Sdk};
use gateway::{TestGateway, Transport};
use kitbag_testkit::processes::{descendant, kill};
use serde_json::json;

/// Lists the tools of all servers and calls one of each.
#[track_caller]
fn check_list_and_call(client: Client, transport: Transport) {
    let test_gateway = TestGateway::with(servers::all);
    let mut caller = client.connect(&test_gateway, transport);
    let wanted: Vec<String> = test_gateway
        .servers
        .iter()
        .map(servers::RealServer::tool_on_merged_route)
        .collect();
    caller.list_until(&wanted);
    for server in &test_gateway.servers {
        let result = caller.call(&server.tool_on_merged_route(), &server.arguments);
        let text = result.to_string();
        assert_ne!(result["isError"], true, "{}: {text}", server.name);
        assert!(
            text.contains(server.expected),
            "{} should answer {:?}: {text}",
            server.name,
            server.expected
        );
    }
}

#[test]
#[ignore = "needs cargo xtask setup"]
fn the_inspector_lists_and_calls_real_servers_over_http() {
    check_list_and_call(INSPECTOR, Transport::Http);
}

#[test]
#[ignore = "needs cargo xtask setup"]
fn the_inspector_lists_and_calls_real_servers_over_stdio() {
    check_list_and_call(INSPECTOR, Transport::Stdio);
}

#[test]
#[ignore = "needs cargo xtask setup"]
fn the_python_client_lists_and_calls_real_servers_over_http() {
    check_list_and_call(PYTHON, Transport::Http);
}

#[test]
#[ignore = "needs cargo xtask setup"]
fn the_python_client_lists_and_calls_real_servers_over_stdio() {
    check_list_and_call(PYTHON, Transport::Stdio);
}

#[test]
#[ignore = "needs cargo xtask setup"]
fn the_python_client_in_the_legacy_era_lists_and_calls_real_servers() {
    check_list_and_call(PYTHON_LEGACY, Transport::Http);
}

#[test]
#[ignore = "needs cargo xtask setup"]
fn the_typescript_client_lists_and_calls_real_servers_over_http() {
    check_list_and_call(TYPESCRIPT, Transport::Http);
}

#[test]
#[ignore = "needs cargo xtask setup"]
fn the_typescript_client_lists_and_calls_real_servers_over_stdio() {
    check_list_and_call(TYPESCRIPT, Transport::Stdio);
}

#[test]
#[ignore = "needs cargo xtask setup"]
fn the_typescript_client_in_the_modern_era_lists_and_calls_real_servers() {
    check_list_and_call(TYPESCRIPT_MODERN, Transport::Http);
}

/// Every SDK in both eras, over both transports, in front of the one server that reports progress.
#[track_caller]
fn check_each_sdk(claim: fn(&mut Driver, &TestGateway)) {
    for transport in [Transport::Http, Transport::Stdio] {
        for sdk in [Sdk::Python, Sdk::TypeScript] {
            for mode in ["auto", "legacy"] {
                let test_gateway = TestGateway::with(servers::only_everything);
                let mut driver = Driver::connect(sdk, mode, &test_gateway, transport);
                driver.list_until(&[ECHO.to_owned()]);
                claim(&mut driver, &test_gateway);
            }
        }
    }
}

#[test]
#[ignore = "needs cargo xtask setup"]
fn progress_of_a_real_server_reaches_real_clients() {
    check_each_sdk(|driver, _| {
        driver.send(&json!({"call": LONG_OPERATION, "arguments": {"duration": 2, "steps": 4}}));
        let mut steps = Vec::new();
        let result = loop {
            match driver.next() {
                Event::Progress(progress) => steps.push(progress["progress"].as_f64().unwrap()),
                Event::Result(result) => break result,
                other => panic!("neither progress nor a result: {other:?}"),
            }
        };
        // Clients deliver progress asynchronously and drop what arrives in the same read, which happens on a
        // busy machine. The raw clients of the other end-to-end tests prove that none is lost before it
        // reaches them.
        assert!(
            [1.0, 2.0, 3.0, 4.0].starts_with(&steps) && steps.len() >= 2,
            "{steps:?}"
        );
        assert!(result.to_string().contains("completed"), "{result}");
    });
}

#[test]
#[ignore = "needs cargo xtask setup"]
fn a_cancelled_call_leaves_client_and_server_usable() {
    check_each_sdk(|driver, _| {
        let arguments = json!({"duration": 600, "steps": 6000});
        driver.send(
            &json!({"call": LONG_OPERATION, "arguments": arguments, "cancel_at_progress": true}),
        );
        assert!(matches!(driver.next(), Event::Progress(_)));
        while let Event::Progress(_) = driver.peek() {
            driver.next();
        }
        assert!(matches!(driver.next(), Event::Cancelled));
        check_echo(driver);
    });
}

#[test]
#[ignore = "needs cargo xtask setup"]
fn a_server_killed_during_a_call_is_named_and_restarted() {
    check_each_sdk(|driver, test_gateway| {
        driver.begin_endless_call();
        let gateway = test_gateway.gateway_pid().unwrap_or(driver.pid());
        kill(descendant(gateway, "server-everything"));
        let complaint = loop {
            match driver.next() {
                Event::Progress(_) => {}
                Event::Result(result) => {
                    assert_eq!(result["isError"], true, "{result}");
                    break result.to_string();
                }
                Event::Error(message) => break message,
                other => panic!("not the end of a call: {other:?}"),
            }
        };
        assert!(
            complaint.contains("everything"),
            "the error should name the server: {complaint}"
        );
        check_echo(driver);
    });
}

#[test]
#[ignore = "needs cargo xtask setup"]
fn a_client_killed_during_a_call_leaves_the_gateway_to_others() {
    for (sdk, mode) in [(Sdk::Python, "auto"), (Sdk::TypeScript, "legacy")] {
        let test_gateway = TestGateway::with(servers::only_everything);
        let mut doomed = Driver::connect(sdk, mode, &test_gateway, Transport::Http);
        let mut other = Driver::connect(Sdk::Python, "auto", &test_gateway, Transport::Http);
        other.list_until(&[ECHO.to_owned()]);
        doomed.begin_endless_call();
        kill(doomed.pid());
        check_echo(&mut other);
        check_echo(&mut Driver::connect(
            sdk,
            mode,
            &test_gateway,
            Transport::Http,
        ));
    }
}

#[test]
#[ignore = "needs cargo xtask setup"]
fn a_client_killed_during_a_call_ends_its_own_gateway_and_servers() {
    let test_gateway = TestGateway::with(servers::only_everything);
    let mut doomed = Driver::connect(Sdk::Python, "auto", &test_gateway, Transport::Stdio);
    doomed.list_until(&[ECHO.to_owned()]);
    doomed.begin_endless_call();
    let left = ["kitbag", "server-everything"].map(|word| descendant(doomed.pid(), word));
    kill(doomed.pid());
    left.into_iter().for_each(processes::wait_until_gone);
}

#[test]
#[ignore = "needs cargo xtask setup"]
fn both_eras_of_a_client_share_a_gateway_and_its_server() {
    let test_gateway = TestGateway::with(servers::only_everything);
    let mut drivers = ["auto", "legacy"].map(|mode| {
        let mut driver = Driver::connect(Sdk::Python, mode, &test_gateway, Transport::Http);
        driver.list_until(&[ECHO.to_owned()]);
        driver
    });
    for driver in &mut drivers {
        driver.begin_endless_call();
    }
    // Both calls run; each client sees only its own, and ending one leaves the other.
    let [modern, legacy] = &mut drivers;
    let steps = |driver: &mut Driver| -> Vec<f64> {
        (0..3)
            .map(|_| driver.next_progress()["progress"].as_f64().unwrap())
            .collect()
    };
    for driver in [&mut *modern, &mut *legacy] {
        let steps = steps(driver);
        assert!(
            steps.is_sorted() && steps[0] < steps[1] && steps[1] < steps[2],
            "{steps:?}"
        );
    }
    kill(modern.pid());
    steps(legacy);
    // Otherwise it would continue its call for ten minutes.
    kill(legacy.pid());
}

#[test]
#[ignore = "needs cargo xtask setup"]
fn a_gateway_started_again_lists_what_it_knows_at_once() {
    let test_gateway = TestGateway::with(servers::all);
    let wanted: Vec<String> = test_gateway
        .servers
        .iter()
        .map(servers::RealServer::tool_on_merged_route)
        .collect();
    Driver::connect(Sdk::Python, "auto", &test_gateway, Transport::Stdio).list_until(&wanted);
    let names = Driver::connect(Sdk::TypeScript, "legacy", &test_gateway, Transport::Stdio).list();
    assert!(wanted.iter().all(|name| names.contains(name)), "{names:?}");
}

#[track_caller]
fn check_echo(driver: &mut Driver) {
    let result = driver.call(ECHO, &json!({"message": "still here"}));
    assert!(result.to_string().contains("still here"), "{result}");
}

const ECHO: &str = "everything__echo";
pub(crate) const LONG_OPERATION: &str = "everything__trigger-long-running-operation";
