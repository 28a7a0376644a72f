//! The references between the parts of a schema, and the number of steps that checking could take.
//!
//! A part applies others to the same value (`allOf`, `$ref`) or to what is inside it
//! (`properties`, `items`). A few lines of `allOf` with references can mean more steps than a
//! machine does in a year, so the steps are counted before anything is checked.

use std::collections::HashMap;

use percent_encoding::percent_decode_str;
use serde_json::Value;

const MAX_PARTS: usize = 50_000;
/// Steps for one value; a few of them take a microsecond.
const MAX_STEPS: u64 = 1_000_000;
/// JSON nested deeper than this is not read in the first place.
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
    pub(super) fn of(schema: &Value) -> Result<Self, &'static str> {
        let mut graph = Self::default();
        let mut waiting = Vec::new();
        graph.enter(String::new(), &mut waiting);
        while let Some(pointer) = waiting.pop() {
            if graph.parts.len() > MAX_PARTS {
                return Err("it has too many parts");
            }
            let part = schema
                .pointer(&pointer)
                .expect("only what is there is entered");
            graph.read(schema, &pointer, part, &mut waiting);
        }
        Ok(graph)
    }

    /// Parts that refer to what is elsewhere or nowhere; nothing can be said about them.
    pub(super) fn dangling(&self) -> &[String] {
        &self.dangling
    }

    /// Returns the depth to which a value may be nested so that checking it stays within the steps.
    pub(super) fn deepest(&self) -> Result<usize, &'static str> {
        let order = self.order().ok_or("it refers to itself without an end")?;
        let mut steps = vec![0u64; self.parts.len()];
        for depth in 0..MAX_DEPTH {
            let before = steps.clone();
            for &at in &order {
                let SchemaPart { same, inside } = &self.parts[at];
                let here = same
                    .iter()
                    .fold(1u64, |sum, it| sum.saturating_add(steps[*it]));
                // A member of a value is checked by its own part only, so the costliest counts.
                let below = inside.iter().map(|it| before[*it]).max().unwrap_or(0);
                steps[at] = here.saturating_add(below);
            }
            if steps[0] > MAX_STEPS {
                return depth
                    .checked_sub(1)
                    .ok_or("checking it would take too long");
            }
            if steps == before {
                break;
            }
        }
        Ok(MAX_DEPTH)
    }

    /// Returns all parts, each after those that it applies to the same value; `None` if the parts
    /// form a circle.
    fn order(&self) -> Option<Vec<usize>> {
        let mut order = Vec::with_capacity(self.parts.len());
        let mut seen = vec![VisitState::Not; self.parts.len()];
        for start in 0..self.parts.len() {
            let mut path = vec![(start, 0)];
            while let Some((at, next)) = path.pop() {
                if seen[at] == VisitState::Done {
                    continue;
                }
                seen[at] = VisitState::Open;
                match self.parts[at].same.get(next) {
                    Some(&other) if seen[other] == VisitState::Open => return None,
                    Some(&other) => path.extend([(at, next + 1), (other, 0)]),
                    None => {
                        seen[at] = VisitState::Done;
                        order.push(at);
                    }
                }
            }
        }
        Some(order)
    }

    fn read(&mut self, schema: &Value, pointer: &str, part: &Value, waiting: &mut Vec<String>) {
        let Some(object) = part.as_object() else {
            return;
        };
        let at = self.by_pointer[pointer];
        for key in ["$ref", "$dynamicRef", "$recursiveRef"] {
            let Some(Value::String(reference)) = object.get(key) else {
                continue;
            };
            match target(schema, reference).filter(|_| key == "$ref") {
                Some(target) => {
                    let target = self.enter(target, waiting);
                    self.parts[at].same.push(target);
                }
                None => return self.dangling.push(pointer.to_owned()),
            }
        }
        for (keyword, reach, form) in KEYWORDS {
            let Some(value) = object.get(*keyword) else {
                continue;
            };
            for below in members(value, *form) {
                let below = self.enter(format!("{pointer}/{}{below}", escape(keyword)), waiting);
                match reach {
                    AppliesTo::Same => self.parts[at].same.push(below),
                    AppliesTo::Inside => self.parts[at].inside.push(below),
                    AppliesTo::Nothing => {}
                }
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

#[derive(Clone, Copy, PartialEq, Eq)]
enum VisitState {
    Not,
    Open,
    Done,
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

/// The pointer of what a reference means, if that is inside this very schema. Names given with
/// `$anchor` or `$id` are so rare in tools that they count as elsewhere.
pub(super) fn target(schema: &Value, reference: &str) -> Option<String> {
    let pointer = percent_decode_str(reference.strip_prefix('#')?)
        .decode_utf8()
        .ok()?;
    let found = schema.pointer(&pointer)?;
    (found.is_object() || found.is_boolean()).then(|| pointer.into_owned())
}

/// A name as a step of a JSON pointer.
pub(super) fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// The name that a step of a JSON pointer means.
pub(super) fn unescape(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(schema: &Value, expected: Result<usize, &str>) {
        assert_eq!(
            Graph::of(schema).and_then(|graph| graph.deepest()),
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
        let depth = Graph::of(&json!({ "allOf": [twice, twice] }))
            .unwrap()
            .deepest()
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
            check(&schema, Err("it refers to itself without an end"));
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
        let graph = Graph::of(&schema).unwrap();
        let mut found = graph.dangling().to_vec();
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
