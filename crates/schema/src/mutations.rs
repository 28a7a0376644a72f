//! The schemas of real tools, and arguments with the typical mistakes of models. Every example and
//! all reread arguments are valid, and only invalid arguments are reread.

use kitbag_wire::{Raw, RawObject, raw};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Map, Value, json};

use super::Checker;
use super::skeleton::skeleton;

/// The tools of both retrieval sets; the environment may name a file of the same format to measure
/// others.
fn definitions() -> Vec<Raw> {
    let own = ["p0", "small"].map(|set| {
        std::fs::read_to_string(format!(
            "{}/../../evals/{set}/tools.jsonl",
            env!("CARGO_MANIFEST_DIR")
        ))
        .unwrap()
    });
    let other =
        std::env::var_os("KITBAG_SCHEMAS").map(|path| std::fs::read_to_string(path).unwrap());
    let lines: Vec<Value> = own
        .iter()
        .chain(&other)
        .flat_map(|text| text.lines())
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let usable = lines.iter().filter(|line| line["schema"].is_object());
    usable.map(definition).collect()
}

fn definition(line: &Value) -> Raw {
    RawObject::new()
        .with("name", &line["name"])
        .with("inputSchema", &line["schema"])
        .to_raw()
}

/// A mistake, made at one member of the arguments.
#[derive(Debug, Clone, Copy)]
enum Mistake {
    Misspelt,
    Upper,
    Forgotten,
    AsText,
    AsNumber,
    AsList,
    Nothing,
    Invented,
    Negative,
    Inside,
}

const MISTAKES: [Mistake; 10] = [
    Mistake::Misspelt,
    Mistake::Upper,
    Mistake::Forgotten,
    Mistake::AsText,
    Mistake::AsNumber,
    Mistake::AsList,
    Mistake::Nothing,
    Mistake::Invented,
    Mistake::Negative,
    Mistake::Inside,
];

/// Arguments with every parameter, made from the schema.
fn full(schema: &Value) -> Map<String, Value> {
    let properties = schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten();
    properties
        .map(|(name, part)| (name.clone(), skeleton(schema, part)))
        .collect()
}

fn make_mistake(arguments: &mut Map<String, Value>, mistake: Mistake, at: usize) {
    let Some(name) = arguments.keys().nth(at % arguments.len().max(1)).cloned() else {
        return;
    };
    let value = arguments[&name].clone();
    match mistake {
        Mistake::Misspelt => {
            arguments.shift_remove(&name);
            arguments.insert(format!("{name}s"), value);
        }
        Mistake::Upper => {
            arguments.shift_remove(&name);
            arguments.insert(name.to_uppercase(), value);
        }
        Mistake::Forgotten => drop(arguments.shift_remove(&name)),
        Mistake::AsText => drop(arguments.insert(name, json!(value.to_string()))),
        Mistake::AsNumber => drop(arguments.insert(name, json!(7))),
        Mistake::AsList => drop(arguments.insert(name, json!([value]))),
        Mistake::Nothing => drop(arguments.insert(name, Value::Null)),
        Mistake::Invented => drop(arguments.insert("zzz_invented".to_owned(), json!(true))),
        Mistake::Negative => drop(arguments.insert(name, json!(-1))),
        Mistake::Inside => {
            if let Value::Object(mut inside) = value {
                make_mistake(&mut inside, Mistake::AsNumber, at);
                arguments.insert(name, inside.into());
            }
        }
    }
}

/// The number of invalid calls, and the number answered with an example.
#[derive(Debug, Default)]
struct Figures {
    unfit: usize,
    taken: usize,
    with_example: usize,
}

fn examine(checker: &Checker, tool: &Raw, arguments: &Value, figures: &mut Figures) {
    let given = raw(arguments);
    let taken = checker.reread_arguments(tool, &given);
    let Err(misfit) = checker.check_arguments(tool, &given) else {
        assert!(
            taken.is_none(),
            "valid arguments were reread: {given} of {tool}"
        );
        return;
    };
    figures.unfit += 1;
    if let Some(taken) = taken {
        figures.taken += 1;
        let checked = checker.check_arguments(tool, &taken.arguments);
        assert!(
            checked.is_ok(),
            "{given} was reread as {}, which is invalid for {tool}",
            taken.arguments
        );
    }
    if let Some(example) = &misfit.example {
        figures.with_example += 1;
        let offered: Raw =
            serde_json::from_str(example).unwrap_or_else(|_| panic!("not JSON: {example}"));
        let checked = checker.check_arguments(tool, &offered);
        assert!(
            checked.is_ok(),
            "the example {example} for {given} is refused by {tool}"
        );
    }
}

#[test]
fn every_example_is_accepted_and_hardly_a_mistake_goes_without_one() {
    let tools = definitions();
    let checker = Checker::default();
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    // Third-party schemas may have patterns for which no example can be made.
    let (cases, least) = if std::env::var_os("KITBAG_SCHEMAS").is_some() {
        (20_000, 95)
    } else {
        (2_000, 99)
    };
    let mut runner = TestRunner::new_with_rng(
        Config {
            cases,
            failure_persistence: None,
            ..Config::default()
        },
        rng,
    );
    let figures = std::cell::RefCell::new(Figures::default());
    let mistake = (any::<prop::sample::Index>(), any::<prop::sample::Index>());
    let strategy = (
        any::<prop::sample::Index>(),
        prop::collection::vec(mistake, 1..4),
    );
    let ran = runner.run(&strategy, |(tool, mistakes)| {
        let tool = tool.get(&tools);
        let schema: Value = RawObject::open(tool).unwrap().read("inputSchema").unwrap();
        let mut arguments = full(&schema);
        for (mistake, at) in mistakes {
            make_mistake(&mut arguments, *mistake.get(&MISTAKES), at.index(100));
        }
        examine(&checker, tool, &arguments.into(), &mut figures.borrow_mut());
        Ok(())
    });
    ran.unwrap();
    let figures = figures.into_inner();
    println!("{figures:?}");
    assert!(
        figures.unfit > cases as usize / 4,
        "too few of the mistakes make a call invalid: {figures:?}"
    );
    assert!(figures.taken > 0, "{figures:?}");
    assert!(
        figures.with_example * 100 >= figures.unfit * least,
        "{figures:?}"
    );
}
