//! The references between the parts of a schema, and the number of steps that a check could take.
//!
//! A part applies others to the same value (`allOf`, `$ref`) or to the values inside it
//! (`properties`, `items`). A few lines of `allOf` with references can mean more steps than a
//! machine does in a year, so the steps are counted before any check.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::pointer::{escape, target};

/// Each part takes memory, and references let a short schema have many.
const MAX_PARTS: usize = 50_000;
/// Steps for one value; a few of them take a microsecond.
const MAX_STEPS: u64 = 1_000_000;
/// JSON nested deeper than this is not parsed in the first place.
const MAX_DEPTH: usize = 128;

#[derive(Default)]
pub(super) struct Graph {
    parts: Vec<SchemaPart>,
    by_pointer: HashMap<String, usize>,
    dangling: Vec<String>,
}

#[derive(Default)]
struct SchemaPart {
    same: Vec<usize>,
    inside: Vec<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum AppliesTo {
    Same,
    Inside,
    /// A definition applies to nothing until another part refers to it.
    Nothing,
}

#[derive(Clone, Copy)]
enum Form {
    One,
    List,
    /// Older dialects have a list where newer ones have one schema.
    OneOrList,
    Map,
}

const KEYWORDS: &[(&str, AppliesTo, Form)] = &[
    ("allOf", AppliesTo::Same, Form::List),
    ("anyOf", AppliesTo::Same, Form::List),
    ("oneOf", AppliesTo::Same, Form::List),
    ("not", AppliesTo::Same, Form::One),
    ("if", AppliesTo::Same, Form::One),
    ("then", AppliesTo::Same, Form::One),
    ("else", AppliesTo::Same, Form::One),
    ("dependentSchemas", AppliesTo::Same, Form::Map),
    ("dependencies", AppliesTo::Same, Form::Map),
    ("properties", AppliesTo::Inside, Form::Map),
    ("patternProperties", AppliesTo::Inside, Form::Map),
    ("additionalProperties", AppliesTo::Inside, Form::One),
    ("unevaluatedProperties", AppliesTo::Inside, Form::One),
    ("propertyNames", AppliesTo::Inside, Form::One),
    ("items", AppliesTo::Inside, Form::OneOrList),
    ("prefixItems", AppliesTo::Inside, Form::List),
    ("additionalItems", AppliesTo::Inside, Form::One),
    ("unevaluatedItems", AppliesTo::Inside, Form::One),
    ("contains", AppliesTo::Inside, Form::One),
    ("contentSchema", AppliesTo::Inside, Form::One),
    ("$defs", AppliesTo::Nothing, Form::Map),
    ("definitions", AppliesTo::Nothing, Form::Map),
];

impl Graph {
    pub(super) fn new(schema: &Value) -> Result<Self, &'static str> {
        let mut graph = Self::default();
        let mut waiting = Vec::new();
        graph.enter(String::new(), &mut waiting);
        while let Some(pointer) = waiting.pop() {
            if graph.parts.len() > MAX_PARTS {
                return Err("it has too many parts");
            }
            let part = schema
                .pointer(&pointer)
                .expect("only pointers to existing parts are entered");
            graph.read(schema, &pointer, part, &mut waiting);
        }
        Ok(graph)
    }

    /// Returns the parts with a reference to an external or missing schema. They cannot be checked.
    pub(super) fn dangling_references(&self) -> &[String] {
        &self.dangling
    }

    /// Returns the depth to which a value may be nested for its check to stay within the steps.
    pub(super) fn max_depth(&self) -> Result<usize, &'static str> {
        let order = self.order().ok_or("it refers to itself endlessly")?;
        let mut steps = vec![0u64; self.parts.len()];
        for depth in 0..MAX_DEPTH {
            let before = steps.clone();
            for &at in &order {
                steps[at] = self.parts[at].steps(&steps, &before);
            }
            if steps[0] > MAX_STEPS {
                let deepest = depth.checked_sub(1);
                return deepest.ok_or("checking it would take too long");
            }
            if steps == before {
                break;
            }
        }
        Ok(MAX_DEPTH)
    }

    /// Returns all parts, each after the parts that it applies to the same value; `None` if the
    /// parts form a cycle.
    fn order(&self) -> Option<Vec<usize>> {
        let mut visit = GraphVisit {
            order: Vec::with_capacity(self.parts.len()),
            states: vec![VisitState::Not; self.parts.len()],
        };
        for start in 0..self.parts.len() {
            visit.visit(&self.parts, start)?;
        }
        Some(visit.order)
    }

    fn read(&mut self, schema: &Value, pointer: &str, part: &Value, waiting: &mut Vec<String>) {
        let Some(object) = part.as_object() else {
            return;
        };
        let at = self.by_pointer[pointer];
        let target = reference_target(schema, object);
        if let Some(target) = &target {
            let target = self.enter(target.clone(), waiting);
            self.parts[at].same.push(target);
        }
        if is_dangling(object, target.as_deref()) {
            return self.dangling.push(pointer.to_owned());
        }
        for (keyword, applies_to, form) in KEYWORDS {
            let below = object.get(*keyword).map(|value| members(value, *form));
            for below in below.into_iter().flatten() {
                let below = self.enter(format!("{pointer}/{}{below}", escape(keyword)), waiting);
                self.parts[at].apply(below, *applies_to);
            }
        }
    }

    fn enter(&mut self, pointer: String, waiting: &mut Vec<String>) -> usize {
        if let Some(at) = self.by_pointer.get(&pointer) {
            return *at;
        }
        self.parts.push(SchemaPart::default());
        self.by_pointer
            .insert(pointer.clone(), self.parts.len() - 1);
        waiting.push(pointer);
        self.parts.len() - 1
    }
}

impl SchemaPart {
    fn apply(&mut self, other: usize, to: AppliesTo) {
        match to {
            AppliesTo::Same => self.same.push(other),
            AppliesTo::Inside => self.inside.push(other),
            AppliesTo::Nothing => {}
        }
    }

    /// Returns the steps for a value, from the steps of the parts for the same value and for values
    /// nested one level less.
    fn steps(&self, same: &[u64], inside: &[u64]) -> u64 {
        let here = self.same.iter().map(|part| same[*part]);
        let here = here.fold(1, u64::saturating_add);
        // A member of a value is only checked by its own part, so the costliest counts.
        let below = self.inside.iter().map(|part| inside[*part]).max();
        here.saturating_add(below.unwrap_or(0))
    }
}

/// A walk from part to part that determines the order in which they can be counted.
struct GraphVisit {
    order: Vec<usize>,
    states: Vec<VisitState>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum VisitState {
    Not,
    Open,
    Done,
}

impl GraphVisit {
    /// Visits a part after the parts that it applies to the same value; `None` if they form a
    /// cycle.
    fn visit(&mut self, parts: &[SchemaPart], start: usize) -> Option<()> {
        let mut path = vec![(start, 0)];
        while let Some((at, next)) = path.pop() {
            if self.states[at] == VisitState::Done {
                continue;
            }
            self.states[at] = VisitState::Open;
            match parts[at].same.get(next) {
                Some(&other) if self.states[other] == VisitState::Open => return None,
                Some(&other) => path.extend([(at, next + 1), (other, 0)]),
                None => {
                    self.states[at] = VisitState::Done;
                    self.order.push(at);
                }
            }
        }
        Some(())
    }
}

/// Returns the pointer to the part that a part refers to.
fn reference_target(schema: &Value, part: &Map<String, Value>) -> Option<String> {
    target(schema, part.get("$ref")?.as_str()?)
}

/// True if a part has a reference that cannot be resolved. The target of the two other kinds of
/// references depends on the validator's path to the part.
fn is_dangling(part: &Map<String, Value>, target: Option<&str>) -> bool {
    let of_the_way = ["$dynamicRef", "$recursiveRef"];
    of_the_way.iter().any(|key| refers(part, key)) || (refers(part, "$ref") && target.is_none())
}

fn refers(part: &Map<String, Value>, keyword: &str) -> bool {
    part.get(keyword).is_some_and(Value::is_string)
}

/// Returns the pointers from a keyword to the schemas under it.
fn members(value: &Value, form: Form) -> Vec<String> {
    match (form, value) {
        (Form::One | Form::OneOrList, Value::Object(_)) => vec![String::new()],
        (Form::List | Form::OneOrList, Value::Array(items)) => {
            (0..items.len()).map(|index| format!("/{index}")).collect()
        }
        (Form::Map, Value::Object(map)) => {
            let schemas = map.iter().filter(|(_, value)| value.is_object());
            schemas
                .map(|(name, _)| format!("/{}", escape(name)))
                .collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(schema: &Value, expected: Result<usize, &str>) {
        assert_eq!(
            Graph::new(schema).and_then(|graph| graph.max_depth()),
            expected
        );
    }

    /// `a0` applies `a1` twice, which applies `a2` twice, and so on.
    fn doubling(levels: usize) -> Value {
        let mut definitions = json!({});
        for level in 0..levels {
            let next = json!({ "$ref": format!("#/$defs/a{}", level + 1) });
            definitions[format!("a{level}")] = json!({ "allOf": [next, next] });
        }
        definitions[format!("a{levels}")] = json!({ "type": "object" });
        json!({ "$defs": definitions, "$ref": "#/$defs/a0" })
    }

    #[test]
    fn ordinary_schemas_may_be_checked_at_any_depth() {
        check(&json!(true), Ok(MAX_DEPTH));
        check(
            &json!({ "type": "object", "properties": { "a": { "items": {} } } }),
            Ok(MAX_DEPTH),
        );
        check(
            &json!({ "properties": { "children": { "items": { "$ref": "#" } } } }),
            Ok(MAX_DEPTH),
        );
        check(&doubling(10), Ok(MAX_DEPTH));
    }

    #[test]
    fn a_schema_that_multiplies_is_checked_only_as_far_as_time_allows() {
        check(&doubling(60), Err("checking it would take too long"));
        let twice = json!({ "properties": { "a": { "$ref": "#" } } });
        let depth = Graph::new(&json!({ "allOf": [twice, twice] }))
            .unwrap()
            .max_depth()
            .unwrap();
        assert!((10..20).contains(&depth), "{depth}");
    }

    #[test]
    fn a_schema_that_refers_to_itself_on_the_spot_is_not_checked() {
        for schema in [
            json!({ "$ref": "#" }),
            json!({ "anyOf": [{ "$ref": "#" }, { "type": "string" }] }),
            json!({ "properties": { "a": { "$ref": "#/properties/a" } } }),
        ] {
            check(&schema, Err("it refers to itself endlessly"));
        }
    }

    #[test]
    fn references_to_elsewhere_and_nowhere_are_found_and_others_are_not() {
        let schema = json!({
            "properties": {
                "$ref": { "type": "string" },
                "web": { "$ref": "https://example.com/x.json#/a" },
                "gone": { "$ref": "#/definitions/Gone" },
                "here": { "$ref": "#/components/a~1b%20c" },
                "named": { "$ref": "#name" },
                "fixed": { "const": { "$ref": "https://example.com/" } },
            },
            "components": { "a/b c": { "items": { "$ref": "other.json" } } },
        });
        let graph = Graph::new(&schema).unwrap();
        let mut found = graph.dangling_references().to_vec();
        found.sort();
        assert_eq!(
            found,
            [
                "/components/a~1b c/items",
                "/properties/gone",
                "/properties/named",
                "/properties/web",
            ]
        );
    }
}
