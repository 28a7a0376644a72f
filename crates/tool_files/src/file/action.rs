//! `[actions.NAME]`: the input of an action, and its request.

use std::str::FromStr;
use std::sync::Arc;

use http::Method;
use kitbag_domain::nearest_name;
use kitbag_tool_spec::{
    ActionName, ActionSpec, ActionWrites, ApiSpec, BodyPattern, JsonPattern, PageRule, PathPattern,
    Placeholder, PlaceholderError, TextPattern,
};
use serde_json::{Map, Value};

use super::mistake::ToolFileMistake;
use super::view::{Located, TableView};
use super::{ToolAction, ToolFile, answer, api, schema};

const OWN_KEYS: [&str; 4] = ["description", "writes", "input", "examples"];
const REQUEST_KEYS: [&str; 9] = [
    "repeatable",
    "method",
    "path",
    "query",
    "headers",
    "body",
    "body_type",
    "pages",
    "answer",
];

/// Parses all actions of a file, in order.
pub(super) fn read_all(file: &TableView<'_>, api: Option<&ApiSpec>) -> Vec<ToolAction> {
    let tables = file.tables("actions");
    if tables.is_empty() {
        file.note(ToolFileMistake::NoActions);
    }
    let (several, has_api) = (tables.len() > 1, file.has("api"));
    let read = tables.into_iter().filter_map(|(name, view)| {
        let name = view.parse_text(Some(name))?;
        let reading = ActionReading {
            view,
            has_api,
            several,
        };
        reading.read(name, api)
    });
    read.collect()
}

struct ActionReading<'t> {
    view: TableView<'t>,
    has_api: bool,
    /// True if the tool has other actions.
    several: bool,
}

/// The input of an action, while patterns are checked against it.
struct ActionInput {
    schema: Map<String, Value>,
    written: Located<String>,
}

impl ActionReading<'_> {
    fn read(&self, name: ActionName, api: Option<&ApiSpec>) -> Option<ToolAction> {
        let view = &self.view;
        self.expect_keys();
        let description = view.needed_text("description");
        let writes = view.choice(
            view.needed_text("writes"),
            &ActionWrites::ALL,
            ActionWrites::as_str,
        );
        let input = self.input();
        let examples = self.examples();
        let request = match (&input, self.has_api) {
            (Some(input), true) => self.request(name.clone(), writes, input, api),
            _ => None,
        };
        let input = input?;
        Some(ToolAction {
            name,
            description: description?.value,
            writes: writes?,
            examples,
            input_line: self
                .view
                .source
                .line(input.written.span.start + view.opening_length(&input.written.span)),
            input_text: input.written.value,
            input: input.schema,
            request: match self.has_api {
                true => Some(Arc::new(request?)),
                false => None,
            },
        })
    }

    /// An action of a tool without an API has no request.
    fn expect_keys(&self) {
        let all: Vec<&'static str> = OWN_KEYS.into_iter().chain(REQUEST_KEYS).collect();
        self.view.expect_keys(&all);
        if self.has_api {
            return;
        }
        for key in REQUEST_KEYS.into_iter().filter(|key| self.view.has(key)) {
            let reason = "in a tool without [api]";
            self.view
                .note_key(key, ToolFileMistake::Meaningless { key, reason });
        }
    }

    fn input(&self) -> Option<ActionInput> {
        let view = &self.view;
        let written = view.needed_text("input")?;
        let value = view.json(&written)?;
        let Value::Object(schema) = value else {
            view.source
                .note_at(&written, ToolFileMistake::NoObjectSchema);
            return None;
        };
        if !schema::describes_object(&schema) {
            view.source
                .note_at(&written, ToolFileMistake::NoObjectSchema);
            return None;
        }
        let input = ActionInput { schema, written };
        self.expect_free_names(&input);
        Some(input)
    }

    fn expect_free_names(&self, input: &ActionInput) {
        let reserved = [
            (
                ToolFile::ACTION,
                self.several,
                "it names one of several actions",
            ),
            (
                PageRule::ARGUMENT,
                self.view.has("pages"),
                "it limits the pages",
            ),
            (
                "credential",
                true,
                "`{credential.…}` is a field of the credential",
            ),
        ];
        for (name, is_reserved, reason) in reserved {
            if is_reserved && schema::properties(&input.schema).any(|(it, _)| it == name) {
                let mistake = ToolFileMistake::ReservedProperty {
                    name: name.to_owned(),
                    reason,
                };
                let words = format!("\"{name}\"");
                self.view
                    .source
                    .note_within(&input.written, &words, mistake);
            }
        }
    }

    fn examples(&self) -> Vec<Map<String, Value>> {
        let view = &self.view;
        let texts = view.texts("examples").into_iter();
        let examples = texts.filter_map(|text| match view.json(&text)? {
            Value::Object(arguments) => Some(arguments),
            _ => {
                view.source.note_at(&text, ToolFileMistake::NoObject);
                None
            }
        });
        examples.collect()
    }

    fn request(
        &self,
        name: ActionName,
        writes: Option<ActionWrites>,
        input: &ActionInput,
        api: Option<&ApiSpec>,
    ) -> Option<ActionSpec> {
        let view = &self.view;
        let method = method(view);
        let path = self.path(input);
        let query = self.query(input);
        let headers = api::headers(view, |_, text| self.pattern(text, input));
        let body = self.body(input);
        let pages = view.table("pages").and_then(|table| answer::pages(&table));
        self.expect_page_argument(pages.as_ref(), input);
        let repeatable = self.repeatable(writes);
        let answer = view
            .table("answer")
            .map(|table| answer::answer(&table))
            .unwrap_or_default();
        let action = ActionSpec {
            name,
            writes: writes?,
            repeatable,
            method: method?,
            path: path?,
            query,
            headers,
            body,
            defaults: schema::defaults(&input.schema),
            pages,
            answer,
        };
        let fields = action.placeholders().into_iter();
        let names_field = fields.filter_map(Placeholder::credential_field).count() > 0;
        if names_field && api.is_some_and(|api| api.credential.is_none()) {
            view.note(ToolFileMistake::NoCredential);
        }
        Some(action)
    }

    fn repeatable(&self, writes: Option<ActionWrites>) -> bool {
        let written = self.view.flag("repeatable");
        if written == Some(true) && writes == Some(ActionWrites::Send) {
            self.view
                .note_key("repeatable", ToolFileMistake::RepeatedSend);
        }
        written.unwrap_or(writes == Some(ActionWrites::Read))
    }

    fn path(&self, input: &ActionInput) -> Option<PathPattern> {
        if !self.view.has("path") {
            self.view.note(ToolFileMistake::MissingKey { key: "path" });
        }
        let text = self.view.any_text("path")?;
        if !text.value.is_empty() && !text.value.starts_with('/') {
            self.view
                .source
                .note_at(&text, ToolFileMistake::PathBeginning);
        }
        let path: PathPattern = self.read_pattern(&text)?;
        self.expect_known(path.placeholders(), &text, input);
        Some(path)
    }

    fn query(&self, input: &ActionInput) -> Vec<(String, TextPattern)> {
        let pairs = self.view.pairs("query").into_iter();
        pairs
            .filter_map(|(name, text)| Some((name.value, self.pattern(&text, input)?)))
            .collect()
    }

    fn pattern(&self, text: &Located<String>, input: &ActionInput) -> Option<TextPattern> {
        let pattern: TextPattern = self.read_pattern(text)?;
        self.expect_known(pattern.placeholders(), text, input);
        Some(pattern)
    }

    fn body(&self, input: &ActionInput) -> Option<BodyPattern> {
        let kind = self.view.choice(
            self.view.text("body_type"),
            &BodyWord::ALL,
            BodyWord::as_str,
        );
        if self.view.has("body_type") && !self.view.has("body") {
            self.view.note(ToolFileMistake::MissingKey { key: "body" });
        }
        let text = self.view.text("body")?;
        Some(match kind.unwrap_or(BodyWord::Json) {
            BodyWord::Text => BodyPattern::Text(self.pattern(&text, input)?),
            BodyWord::Bytes => BodyPattern::Bytes(self.pattern(&text, input)?),
            BodyWord::Json => BodyPattern::Json(self.json_pattern(&text, input)?),
            BodyWord::Form => BodyPattern::Form(self.json_pattern(&text, input)?),
            BodyWord::Multipart => BodyPattern::Multipart(self.json_pattern(&text, input)?),
        })
    }

    fn json_pattern(&self, text: &Located<String>, input: &ActionInput) -> Option<JsonPattern> {
        let value = match text.value.trim() {
            word if is_one_word(word) => Value::String(word.to_owned()),
            _ => self.view.json(text)?,
        };
        match JsonPattern::from_value(&value) {
            Ok(pattern) => {
                self.expect_known(pattern.placeholders(), text, input);
                Some(pattern)
            }
            Err(error) => {
                self.view
                    .source
                    .note_at(text, ToolFileMistake::Placeholder(error));
                None
            }
        }
    }

    fn read_pattern<T: FromStr<Err = PlaceholderError>>(
        &self,
        text: &Located<String>,
    ) -> Option<T> {
        self.view.parse_text(Some(text.clone()))
    }

    /// Notes the placeholders that name no property of the input.
    fn expect_known<'a>(
        &self,
        words: impl IntoIterator<Item = &'a Placeholder>,
        text: &Located<String>,
        input: &ActionInput,
    ) {
        let names: Vec<&str> = schema::properties(&input.schema)
            .map(|(name, _)| name.as_str())
            .collect();
        for word in words.into_iter().filter_map(Placeholder::argument_name) {
            if names.contains(&word) {
                continue;
            }
            let mistake = ToolFileMistake::UnknownArgument {
                word: word.to_owned(),
                nearest: nearest_name(word, names.iter().copied()).map(str::to_owned),
                known: names.iter().map(|&name| name.to_owned()).collect(),
            };
            let words = format!("{{{word}");
            self.view.source.note_within(text, &words, mistake);
        }
    }

    fn expect_page_argument(&self, pages: Option<&PageRule>, input: &ActionInput) {
        let Some(word) = pages.and_then(PageRule::page_argument) else {
            return;
        };
        let known: Vec<String> = schema::properties(&input.schema)
            .map(|(name, _)| name.clone())
            .collect();
        if !known.iter().any(|name| name == word) {
            let nearest = nearest_name(word, known.iter().map(String::as_str)).map(str::to_owned);
            let mistake = ToolFileMistake::UnknownArgument {
                word: word.to_owned(),
                nearest,
                known,
            };
            self.view.note_key("pages", mistake);
        }
    }
}

/// True for `{*}` and `{name}`, which need no JSON quotes around them.
fn is_one_word(text: &str) -> bool {
    let inside = text.strip_prefix('{').and_then(|it| it.strip_suffix('}'));
    inside.is_some_and(|inside| inside == "*" || Placeholder::parse(inside).is_ok())
}

#[derive(Debug, Clone, Copy)]
enum BodyWord {
    Json,
    Form,
    Multipart,
    Bytes,
    Text,
}

impl BodyWord {
    const ALL: [Self; 5] = [
        Self::Json,
        Self::Form,
        Self::Multipart,
        Self::Bytes,
        Self::Text,
    ];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Form => "form",
            Self::Multipart => "multipart",
            Self::Bytes => "bytes",
            Self::Text => "text",
        }
    }
}

fn method(view: &TableView<'_>) -> Option<Method> {
    const METHODS: [&str; 6] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];
    let name = view.choice(view.needed_text("method"), &METHODS, |name| name)?;
    name.parse().ok()
}
