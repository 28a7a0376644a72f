//! The four tools: how they are offered, and how a call becomes a question.

use kitbag_wire::{ErrorObject, RawObject, meta::code};
use serde_json::{Value, json};

use crate::answers::Answers;
use crate::asked::Miss;
use crate::library::Library;

/// More than any name, and any question in its place, needs.
const LONG: usize = 500;
const MANY: usize = 100;

/// What a call came to: an answer, or words that help to ask again.
pub type Told = Result<Value, Miss>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    Lookup,
    Compare,
    List,
    Sources,
}

impl Tool {
    pub const ALL: [Self; 4] = [Self::Lookup, Self::Compare, Self::List, Self::Sources];

    pub fn name(self) -> &'static str {
        match self {
            Self::Lookup => "lookup_capability",
            Self::Compare => "compare_capability",
            Self::List => "list_capabilities",
            Self::Sources => "get_sources",
        }
    }

    /// As `tools/list` shows it.
    pub fn definition(self, library: &Library) -> Value {
        let examples = agents(library, if self == Self::Lookup { 4 } else { 1 });
        let agent =
            json!({ "type": "string", "description": format!("Id or name, e.g. {examples}") });
        let capability =
            json!({ "type": "string", "description": "In any words, e.g. mcp, hooks, plan mode" });
        let (title, description, properties, required) = match self {
            Self::Lookup => (
                "Look up a capability",
                "Whether one coding agent (Copilot, Claude Code, Gemini CLI, Cursor…) supports a feature such as \
                 MCP, and how: tier, setup command, config file, pitfalls, sources.",
                json!({ "agent": agent, "capability": capability }),
                json!(["agent", "capability"]),
            ),
            Self::Compare => (
                "Compare a capability",
                "Which coding agents support a feature, and how they differ: tier, maturity, setup. \
                 `available: null` means undocumented.",
                json!({
                    "capability": capability,
                    "agents": {
                        "type": "array", "items": { "type": "string" }, "description": "Only these; default all",
                    },
                }),
                json!(["capability"]),
            ),
            Self::List => (
                "List capabilities",
                "All features of one coding agent, or of every agent in a category, with tier and availability. \
                 Give agent, category or both.",
                json!({
                    "agent": agent,
                    "category": { "type": "string", "description": format!("E.g. {}", categories(library)) },
                }),
                json!([]),
            ),
            Self::Sources => (
                "Get sources",
                "Where facts about coding agents are documented: URLs to cite, with the day each was last \
                 checked. For an agent, a capability or both.",
                json!({ "agent": agent, "capability": capability }),
                json!([]),
            ),
        };
        let mut input =
            json!({ "type": "object", "properties": properties, "additionalProperties": false });
        if required != json!([]) {
            input["required"] = required;
        }
        json!({
            "name": self.name(),
            "title": title,
            "description": description,
            "inputSchema": input,
            "outputSchema": self.output(),
            "annotations": { "readOnlyHint": true, "openWorldHint": false },
        })
    }

    /// Asks the question a call stands for. What the arguments lack is said as the protocol wants it.
    pub async fn call(self, answers: &Answers, arguments: &RawObject) -> Result<Told, ErrorObject> {
        self.refuse_unknown(arguments)?;
        let text = |key: &str| text(arguments, key);
        let (agent, capability) = (text("agent")?, text("capability")?);
        let agent = agent.as_deref();
        let capability = capability.as_deref();
        Ok(match self {
            Self::Lookup => {
                answers
                    .lookup(needed(agent, "agent")?, needed(capability, "capability")?)
                    .await
            }
            Self::Compare => {
                answers
                    .compare(
                        needed(capability, "capability")?,
                        &texts(arguments, "agents")?,
                    )
                    .await
            }
            Self::List => answers.list(agent, text("category")?.as_deref()).await,
            Self::Sources => answers.sources(agent, capability).await,
        })
    }

    fn parameters(self) -> &'static [&'static str] {
        match self {
            Self::Lookup | Self::Sources => &["agent", "capability"],
            Self::Compare => &["capability", "agents"],
            Self::List => &["agent", "category"],
        }
    }

    /// A name nobody reads would leave the caller with the answer to another question.
    fn refuse_unknown(self, arguments: &RawObject) -> Result<(), ErrorObject> {
        let known = self.parameters();
        let unknown = arguments
            .iter()
            .map(|(name, _)| name)
            .find(|name| !known.contains(name));
        let Some(unknown) = unknown else {
            return Ok(());
        };
        let known: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
        Err(invalid(format!(
            "{} has no parameter `{unknown}`; it has {}",
            self.name(),
            known.join(" and ")
        )))
    }

    /// Few words: an answer explains itself, this is for programs.
    fn output(self) -> Value {
        let (object, array, text) = (
            json!({ "type": "object" }),
            rows(),
            json!({ "type": "string" }),
        );
        let properties = match self {
            Self::Lookup => json!({ "agent": text, "capability": object, "matches": array }),
            Self::Compare => json!({ "capability": text, "comparison": array, "matches": array }),
            Self::List => json!({ "agent": text, "category": text, "capabilities": array }),
            Self::Sources => {
                json!({ "agent": text, "capability": text, "sources": array, "matches": array })
            }
        };
        json!({ "type": "object", "properties": properties })
    }
}

impl std::str::FromStr for Tool {
    type Err = ErrorObject;

    fn from_str(name: &str) -> Result<Self, ErrorObject> {
        let unknown = || invalid(format!("there is no tool `{name}`"));
        Self::ALL
            .into_iter()
            .find(|tool| tool.name() == name)
            .ok_or_else(unknown)
    }
}

fn rows() -> Value {
    json!({ "type": "array", "items": { "type": "object" } })
}

/// The first few; whoever names another is understood as well.
fn agents(library: &Library, many: usize) -> String {
    library
        .agents
        .iter()
        .take(many)
        .map(|it| it.agent.id.as_str())
        .collect::<Vec<_>>()
        .join(", ")
}

/// The dozen that hold most; the others hold one capability each, and are found by its words too.
fn categories(library: &Library) -> String {
    let size = |name: &str| {
        library
            .capabilities
            .iter()
            .filter(|it| it.category.name() == name)
            .count()
    };
    let mut names: Vec<&str> = library
        .category_names
        .all()
        .iter()
        .map(|it| it.name.as_str())
        .collect();
    names.sort_by_key(|name| std::cmp::Reverse(size(name)));
    names.truncate(12);
    names.join(", ")
}

/// Models write `null` and empty text where they mean nothing.
fn text(arguments: &RawObject, key: &str) -> Result<Option<String>, ErrorObject> {
    let Some(value) = arguments.get(key).filter(|it| it.get() != "null") else {
        return Ok(None);
    };
    let text: String = serde_json::from_str(value.get())
        .map_err(|_| invalid(format!("`{key}` must be a string")))?;
    name(text, key).map(|text| Some(text).filter(|text| !text.trim().is_empty()))
}

/// One text is as good as a list of one.
fn texts(arguments: &RawObject, key: &str) -> Result<Vec<String>, ErrorObject> {
    let Some(value) = arguments.get(key).filter(|it| it.get() != "null") else {
        return Ok(Vec::new());
    };
    let many: Option<Vec<String>> = serde_json::from_str(value.get()).ok();
    match many {
        Some(many) if many.len() > MANY => Err(invalid(format!("`{key}` may have {MANY} entries"))),
        Some(many) => many.into_iter().map(|one| name(one, key)).collect(),
        None => {
            let one = text(arguments, key)
                .map_err(|_| invalid(format!("`{key}` must be a list of strings")))?;
            Ok(one.into_iter().collect())
        }
    }
}

/// Whatever is said is held against every name there is, letter by letter.
fn name(text: String, key: &str) -> Result<String, ErrorObject> {
    if text.len() > LONG {
        Err(invalid(format!("`{key}` may have {LONG} letters")))
    } else {
        Ok(text)
    }
}

fn needed<'a>(value: Option<&'a str>, key: &str) -> Result<&'a str, ErrorObject> {
    value.ok_or_else(|| invalid(format!("`{key}` is missing")))
}

fn invalid(message: String) -> ErrorObject {
    ErrorObject::new(code::INVALID_PARAMS, message)
}
