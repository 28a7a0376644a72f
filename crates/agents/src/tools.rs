//! The four tools: their definitions, and the questions that their calls ask.

use kitbag_tool_server::{Implementation, ToolAnswer, ToolServer, unknown_tool};
use kitbag_wire::{ErrorObject, RawObject, meta::code};
use serde_json::{Value, json};

use crate::answers::AgentAnswers;
use crate::library::Library;

const INSTRUCTIONS: &str = "\
What coding agents can do, with dated sources. lookup_capability for one agent, compare_capability across \
agents; startUrl is the page to read for more.";

/// In characters. Every text is compared with every name, letter by letter.
const MAX_NAME_LENGTH: usize = 500;
/// More agents than there are.
const MAX_NAMES: usize = 100;

impl ToolServer for AgentAnswers {
    fn implementation(&self) -> Implementation {
        Implementation {
            name: "agent-capabilities",
            title: "Agent capabilities",
        }
    }

    fn instructions(&self) -> &str {
        INSTRUCTIONS
    }

    fn definitions(&self) -> Vec<Value> {
        AgentTool::ALL
            .map(|tool| tool.definition(&self.library))
            .into()
    }

    async fn call(&self, tool: &str, arguments: RawObject) -> Result<ToolAnswer, ErrorObject> {
        let tool: AgentTool = tool.parse()?;
        tool.call(self, &arguments).await
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentTool {
    Lookup,
    Compare,
    List,
    Sources,
}

impl AgentTool {
    pub const ALL: [Self; 4] = [Self::Lookup, Self::Compare, Self::List, Self::Sources];

    pub fn name(self) -> &'static str {
        match self {
            Self::Lookup => "lookup_capability",
            Self::Compare => "compare_capability",
            Self::List => "list_capabilities",
            Self::Sources => "get_sources",
        }
    }

    /// Returns the definition for `tools/list`.
    pub fn definition(self, library: &Library) -> Value {
        json!({
            "name": self.name(),
            "title": self.title(),
            "description": self.description(),
            "inputSchema": self.input(library),
            "outputSchema": self.output(),
            "annotations": { "readOnlyHint": true, "openWorldHint": false },
        })
    }

    fn title(self) -> &'static str {
        match self {
            Self::Lookup => "Look up a capability",
            Self::Compare => "Compare a capability",
            Self::List => "List capabilities",
            Self::Sources => "Get sources",
        }
    }

    fn description(self) -> &'static str {
        match self {
            Self::Lookup => {
                "Whether one coding agent (Copilot, Claude Code, Gemini CLI, Cursor…) supports a feature such as \
                 MCP, and how: tier, setup command, config file, pitfalls, sources."
            }
            Self::Compare => {
                "Which coding agents support a feature, and how they differ: tier, maturity, setup. \
                 `available: null` means undocumented."
            }
            Self::List => {
                "All features of one coding agent, or of every agent in a category, with tier and availability. \
                 Give agent, category or both."
            }
            Self::Sources => {
                "Where facts about coding agents are documented: URLs to cite, with the day each was last \
                 checked. For an agent, a capability or both."
            }
        }
    }

    fn input(self, library: &Library) -> Value {
        let properties = self.properties(library);
        let mut input =
            json!({ "type": "object", "properties": properties, "additionalProperties": false });
        match self {
            Self::Lookup => input["required"] = json!(["agent", "capability"]),
            Self::Compare => input["required"] = json!(["capability"]),
            Self::List | Self::Sources => {}
        }
        input
    }

    fn properties(self, library: &Library) -> Value {
        // The first tool of the list has more examples; a model that reads the others has seen
        // them.
        let examples = agents(library, if self == Self::Lookup { 4 } else { 1 });
        let agent =
            json!({ "type": "string", "description": format!("Id or name, e.g. {examples}") });
        let capability =
            json!({ "type": "string", "description": "In any words, e.g. mcp, hooks, plan mode" });
        match self {
            Self::Lookup | Self::Sources => json!({ "agent": agent, "capability": capability }),
            Self::Compare => json!({
                "capability": capability,
                "agents": {
                    "type": "array", "items": { "type": "string" }, "description": "Only these; default all",
                },
            }),
            Self::List => json!({
                "agent": agent,
                "category": { "type": "string", "description": format!("E.g. {}", categories(library)) },
            }),
        }
    }

    /// Answers a call. Wrong arguments are protocol errors.
    async fn call(
        self,
        answers: &AgentAnswers,
        arguments: &RawObject,
    ) -> Result<ToolAnswer, ErrorObject> {
        self.reject_unknown(arguments)?;
        let agent = text(arguments, "agent")?;
        let capability = text(arguments, "capability")?;
        let (agent, capability) = (agent.as_deref(), capability.as_deref());
        let answer = match self {
            Self::Lookup => {
                let (agent, capability) = (
                    require_argument(agent, "agent")?,
                    require_argument(capability, "capability")?,
                );
                answers.lookup(agent, capability).await
            }
            Self::Compare => {
                let capability = require_argument(capability, "capability")?;
                answers
                    .compare(capability, &texts(arguments, "agents")?)
                    .await
            }
            Self::List => {
                let category = text(arguments, "category")?;
                answers.list(agent, category.as_deref()).await
            }
            Self::Sources => answers.sources(agent, capability).await,
        };
        Ok(answer.map_err(|miss| miss.to_string()))
    }

    fn parameters(self) -> &'static [&'static str] {
        match self {
            Self::Lookup | Self::Sources => &["agent", "capability"],
            Self::Compare => &["capability", "agents"],
            Self::List => &["agent", "category"],
        }
    }

    /// Ignoring a parameter would answer a different question.
    fn reject_unknown(self, arguments: &RawObject) -> Result<(), ErrorObject> {
        let known = self.parameters();
        let mut names = arguments.iter().map(|(name, _)| name);
        let Some(unknown) = names.find(|name| !known.contains(name)) else {
            return Ok(());
        };
        let known: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
        let (tool, known) = (self.name(), known.join(" and "));
        Err(invalid(format!(
            "{tool} has no parameter `{unknown}`; it has {known}"
        )))
    }

    /// The schema is short: an answer explains itself to a model, and programs need no more.
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

impl std::str::FromStr for AgentTool {
    type Err = ErrorObject;

    fn from_str(name: &str) -> Result<Self, ErrorObject> {
        let tool = Self::ALL.into_iter().find(|tool| tool.name() == name);
        tool.ok_or_else(|| unknown_tool(name))
    }
}

fn rows() -> Value {
    json!({ "type": "array", "items": { "type": "object" } })
}

/// Names the first few agents, as examples.
fn agents(library: &Library, many: usize) -> String {
    let agents = library.agents.iter().take(many);
    let ids: Vec<&str> = agents.map(|agent| agent.agent.id.as_str()).collect();
    ids.join(", ")
}

/// Names the dozen largest categories. The others have one capability each, and are also found by
/// its name.
fn categories(library: &Library) -> String {
    let categories = library.category_names.all().iter();
    let mut names: Vec<&str> = categories.map(|category| category.name.as_str()).collect();
    names.sort_by_key(|name| std::cmp::Reverse(category_size(library, name)));
    names.truncate(12);
    names.join(", ")
}

fn category_size(library: &Library, name: &str) -> usize {
    let terms = library.capabilities.iter();
    terms.filter(|term| term.category.name() == name).count()
}

/// Reads a text. Models write `null` or an empty text for a parameter that they omit.
fn text(arguments: &RawObject, key: &str) -> Result<Option<String>, ErrorObject> {
    let Some(value) = non_null_argument(arguments, key) else {
        return Ok(None);
    };
    let text: String =
        serde_json::from_str(value).map_err(|_| invalid(format!("`{key}` must be a string")))?;
    name(text, key).map(|text| Some(text).filter(|text| !text.trim().is_empty()))
}

/// Reads a list of texts. A single text counts as a list of one.
fn texts(arguments: &RawObject, key: &str) -> Result<Vec<String>, ErrorObject> {
    let Some(value) = non_null_argument(arguments, key) else {
        return Ok(Vec::new());
    };
    let many: Option<Vec<String>> = serde_json::from_str(value).ok();
    match many {
        Some(many) if many.len() > MAX_NAMES => Err(invalid(format!(
            "`{key}` may have at most {MAX_NAMES} entries"
        ))),
        Some(many) => many.into_iter().map(|one| name(one, key)).collect(),
        None => {
            let one = text(arguments, key)
                .map_err(|_| invalid(format!("`{key}` must be a list of strings")))?;
            Ok(one.into_iter().collect())
        }
    }
}

fn non_null_argument<'a>(arguments: &'a RawObject, key: &str) -> Option<&'a str> {
    let value = arguments.get(key)?.get();
    (value != "null").then_some(value)
}

fn name(text: String, key: &str) -> Result<String, ErrorObject> {
    if text.chars().count() > MAX_NAME_LENGTH {
        Err(invalid(format!(
            "`{key}` may have at most {MAX_NAME_LENGTH} characters"
        )))
    } else {
        Ok(text)
    }
}

fn require_argument<'a>(value: Option<&'a str>, key: &str) -> Result<&'a str, ErrorObject> {
    value.ok_or_else(|| invalid(format!("`{key}` is missing")))
}

fn invalid(message: String) -> ErrorObject {
    ErrorObject::new(code::INVALID_PARAMS, message)
}
