//! Tests of launch plans from every form of `server.json`.

use kitbag_domain::Remedy as _;
use kitbag_registry::{
    FilledPlan, InputFormat, PlanAnswers, PlanInput, Registry, RegistryServer, RunPlan, choose,
    offered_kinds,
};

use kitbag_testkit::test_registry::TestRegistry;

async fn server(name: &str) -> RegistryServer {
    let test_registry = TestRegistry::open().await;
    let registry = Registry::new(test_registry.url.parse().unwrap());
    registry
        .fetch_entry(&name.parse().unwrap(), None)
        .await
        .unwrap()
        .server
}

/// Returns the plan of an entry, of this kind if it is not empty, on a machine with all programs.
async fn plan(name: &str, kind: &str) -> Result<RunPlan, String> {
    let wanted = (!kind.is_empty()).then(|| kind.parse().unwrap());
    choose(&server(name).await, wanted, |_| true).map_err(|error| error.to_string())
}

/// Formats the plan with the answers: `A=1 program word word`.
#[track_caller]
fn fill_plan(plan: &RunPlan, given: &[(&str, &str)]) -> Result<String, String> {
    let mut answers = PlanAnswers::default();
    for (name, answer) in given {
        let input = plan
            .inputs
            .iter()
            .find(|input| input.name == *name)
            .expect("an input of that name");
        answers
            .add(input, (*answer).to_owned())
            .map_err(|error| error.to_string())?;
    }
    let pairs = |pairs: Vec<(String, String)>| {
        pairs
            .into_iter()
            .map(|(key, value)| format!("{key}={value}"))
    };
    match plan.fill(&answers, |text| text.replace('$', "%")) {
        Ok(FilledPlan::Launch { command, args, env }) => Ok(pairs(env)
            .chain([command])
            .chain(args)
            .collect::<Vec<_>>()
            .join(" ")),
        Ok(FilledPlan::Remote {
            url,
            transport,
            headers,
        }) => Ok([format!("{transport:?} {url}")]
            .into_iter()
            .chain(pairs(headers))
            .collect::<Vec<_>>()
            .join(" ")),
        Err(missing) => Err(missing
            .iter()
            .map(|input| input.name.as_str())
            .collect::<Vec<_>>()
            .join(" ")),
    }
}

#[track_caller]
fn check(plan: &Result<RunPlan, String>, given: &[(&str, &str)], expected: Result<&str, &str>) {
    let found = plan
        .as_ref()
        .map_err(Clone::clone)
        .and_then(|plan| fill_plan(plan, given));
    assert_eq!(found.as_deref().map_err(String::as_str), expected);
}

#[tokio::test]
async fn an_npm_package_runs_in_its_version_with_its_variables() {
    let plan = plan("io.github.acme/weather", "").await;
    check(&plan, &[], Err("WEATHER_API_KEY"));
    check(
        &plan,
        &[("WEATHER_API_KEY", "${KEY}")],
        Ok("WEATHER_API_KEY=${KEY} WEATHER_UNITS=metric npx -y @acme/weather@1.1.0 stdio"),
    );
    let plan = plan.unwrap();
    assert_eq!(plan.preview().join(" "), "npx -y @acme/weather@1.1.0 stdio");
    assert_eq!(plan.source, "@acme/weather 1.1.0");
    let expected = PlanInput {
        name: "WEATHER_API_KEY".to_owned(),
        description: Some("The key of your account".to_owned()),
        required: true,
        secret: true,
        repeated: false,
        default: None,
        placeholder: None,
        choices: vec![],
        format: InputFormat::Text,
    };
    assert_eq!(plan.inputs[0], expected);
    assert!(plan.inputs[1].check("imperial").is_ok());
    let wrong = plan.inputs[1].check("kelvin").unwrap_err();
    assert_eq!(
        wrong.to_string(),
        "`WEATHER_UNITS` must be one of metric, imperial"
    );
}

#[tokio::test]
async fn arguments_go_in_order_with_defaults_and_as_often_as_given() {
    let plan = plan("com.acme.notes/notes", "pypi").await;
    check(&plan, &[], Err("folder"));
    check(
        &plan,
        &[("folder", "/a"), ("folder", "/b")],
        Ok("uvx --python 3.12 acme-notes==0.5.0 serve --stdio --mode words --read-only /a /b"),
    );
    check(
        &plan,
        &[
            ("folder", "/a"),
            ("mode", "meaning"),
            ("read-only", "false"),
            ("depth", "2"),
        ],
        Ok(
            "uvx --python 3.12 acme-notes==0.5.0 serve --stdio --mode meaning --read-only=false --depth 2 /a",
        ),
    );
    check(
        &plan,
        &[("mode", "words"), ("mode", "meaning")],
        Err("`mode` was specified twice"),
    );
    let plan = plan.unwrap();
    let wrong = |name: &str| {
        plan.inputs
            .iter()
            .find(|input| input.name == name)
            .unwrap()
            .check("no")
            .unwrap_err()
            .to_string()
    };
    assert_eq!(wrong("depth"), "`depth` must be a number");
    assert_eq!(wrong("read-only"), "`read-only` must be true or false");
    assert_eq!(
        plan.preview().join(" "),
        "uvx --python 3.12 acme-notes==0.5.0 serve --stdio --mode <mode> [--read-only] --depth <depth> <folder>"
    );
}

#[tokio::test]
async fn a_container_gets_its_variables_by_name_and_never_by_value() {
    let plan = plan("io.github.acme/ledger", "").await;
    check(&plan, &[], Err("source host DB_PASSWORD"));
    let given = [
        ("source", "/my books"),
        ("host", "db"),
        ("DB_PASSWORD", "${secret:x}"),
    ];
    check(
        &plan,
        &given,
        Ok(
            "DB_PASSWORD=${secret:x} TZ=UTC DB_MODE=books docker run -i --rm \
            --mount type=bind,src=/my books,dst=/books -e DB_PASSWORD -e TZ -e DB_MODE ghcr.io/acme/ledger:3.1.0 \
            --host db",
        ),
    );
    check(
        &plan,
        &[
            given.as_slice(),
            &[("user", "ann"), ("owner", "${secret:y}")],
        ]
        .concat(),
        Ok(
            "DB_PASSWORD=${secret:x} DB_URL=pg://ann@db/{\"odd\"} TZ=UTC DB_OWNER=${secret:y} DB_MODE=books \
            docker run -i --rm --mount type=bind,src=/my books,dst=/books -e DB_PASSWORD -e DB_URL -e TZ \
            -e DB_OWNER -e DB_MODE ghcr.io/acme/ledger:3.1.0 --host db",
        ),
    );
    let plan = plan.unwrap();
    let owner = plan
        .inputs
        .iter()
        .find(|input| input.name == "owner")
        .unwrap();
    assert_eq!(
        (owner.description.as_deref(), owner.secret),
        (Some("Whose books"), true)
    );
}

#[tokio::test]
async fn a_hosted_server_gets_its_address_and_headers_filled() {
    let plan = plan("com.acme/mcp", "").await;
    check(&plan, &[], Err("tenant token pin"));
    check(
        &plan,
        &[("tenant", "t1"), ("token", "${secret:a}"), ("pin", "7")],
        Ok(
            "StreamableHttp https://eu.acme.example/t1/mcp Authorization=Bearer ${secret:a} X-Pin=7",
        ),
    );
    let plan = plan.unwrap();
    let secret: Vec<_> = plan
        .inputs
        .iter()
        .filter(|it| it.secret)
        .map(|it| it.name.as_str())
        .collect();
    assert_eq!(secret, ["token", "pin"]);
}

#[tokio::test]
async fn a_kind_whose_program_is_installed_is_chosen() {
    let server = server("io.github.acme/everywhere").await;
    let names: Vec<_> = offered_kinds(&server)
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        names,
        ["npm", "pypi", "nuget", "remote", "oci", "mcpb", "other"]
    );
    let preview = |wanted: Option<&str>, here: &[&str]| {
        let wanted = wanted.map(|kind| kind.parse().unwrap());
        choose(&server, wanted, |program| here.contains(&program))
            .unwrap()
            .preview()
            .join(" ")
    };
    assert_eq!(
        preview(None, &["docker", "npx", "pipx"]),
        "npx --yes everywhere@1.0.0"
    );
    assert_eq!(
        preview(None, &["docker", "pipx"]),
        "pipx run everywhere==1.0.0"
    );
    assert_eq!(
        preview(None, &["dnx"]),
        "dnx Acme.Everywhere@1.0.0 --yes -- mcp"
    );
    assert_eq!(preview(None, &["docker"]), "https://everywhere.example/mcp");
    assert_eq!(
        preview(Some("oci"), &[]),
        "docker run -i --rm docker.io/acme/everywhere:1.0.0"
    );
    assert_eq!(preview(Some("npm"), &[]), "npx --yes everywhere@1.0.0");
}

#[tokio::test]
async fn an_unusable_kind_is_rejected_with_the_reason() {
    let refused = async |name: &str, kind: &str| {
        let wanted = (!kind.is_empty()).then(|| kind.parse().unwrap());
        let error = choose(&server(name).await, wanted, |_| true).unwrap_err();
        format!("{error} => {}", error.remedy().unwrap_or_default())
    };
    assert!(
        refused("io.github.acme/bundle", "")
            .await
            .starts_with("it is a bundle (MCPB)")
    );
    assert!(
        refused("io.github.acme/empty", "")
            .await
            .starts_with("the entry has neither a package")
    );
    assert_eq!(
        refused("io.github.acme/weather", "oci").await,
        "the entry cannot be run as `oci` => choose one of: --package npm"
    );
    assert_eq!(
        refused("io.github.mallory/helper", "pypi").await,
        "`--from=elsewhere` is not a valid name or version of a package => "
    );
    assert!(
        refused("io.github.mallory/helper", "oci")
            .await
            .starts_with("`1 --privileged` is not")
    );
}

#[tokio::test]
async fn the_text_of_an_author_is_always_plain_text() {
    check(
        &plan("io.github.mallory/helper", "npm").await,
        &[],
        Ok(
            "LOOT=%{secret:github.TOKEN} PARTS=%{secret:github.TOKEN} GUESS=%{HOME} npx -y helper@1.0.0 %{HOME}",
        ),
    );
}
