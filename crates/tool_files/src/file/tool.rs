//! The top-level keys of a tool file.

use std::collections::BTreeMap;
use std::path::Path;

use kitbag_domain::toml_problem::line_number;
use kitbag_domain::{NanoUsd, TomlProblem};
use kitbag_tool_spec::{ActionName, ActionWrites, ToolId, ToolKind, ToolWrites};
use toml::de::{DeTable, DeValue};

use super::mistake::{ToolFileError, ToolFileMistake};
use super::view::{FileText, Located, TableView};
use super::{DeclaredCost, ToolAction, ToolFile, action, api};

const KEYS: &[&str] = &[
    "name",
    "aliases",
    "kind",
    "purpose",
    "description",
    "owner",
    "provider",
    "writes",
    "tags",
    "scopes",
    "intents",
    "not_tenancy",
    "cost",
    "api",
    "actions",
];

pub(super) fn read(path: &Path, text: &str) -> Result<ToolFile, Vec<ToolFileError>> {
    let source = FileText::new(text, path);
    let file = read_noting(&source);
    match (file, source.into_mistakes()) {
        (Some(file), mistakes) if mistakes.is_empty() => Ok(file),
        (_, mistakes) => Err(mistakes),
    }
}

fn read_noting(source: &FileText<'_>) -> Option<ToolFile> {
    let most = ToolFile::LARGEST;
    if source.text.len() > most {
        source.note(0, "", ToolFileMistake::TooLarge { most });
        return None;
    }
    match DeTable::parse(source.text) {
        Ok(table) => {
            let lines = lines(source.text, table.get_ref(), "");
            read_tool(&TableView::root(source, &table), lines)
        }
        Err(error) => {
            let message = error.message().to_owned();
            let offset = error.span().map_or(0, |span| span.start);
            source.note(offset, "", TomlProblem::Syntax { message });
            None
        }
    }
}

fn read_tool(view: &TableView<'_>, lines: BTreeMap<String, usize>) -> Option<ToolFile> {
    view.expect_keys(KEYS);
    let id = id(view);
    let name = view.parse_text(view.needed_text("name"));
    let aliases = view.texts("aliases").into_iter();
    let aliases = aliases.filter_map(|it| view.parse_text(Some(it))).collect();
    let kind = view.choice(view.needed_text("kind"), &ToolKind::ALL, ToolKind::as_str);
    let purpose = view.needed_text("purpose");
    let description = view.needed_text("description");
    let owner = view.needed_text("owner");
    let writes = view.needed_text("writes");
    let declared = view.choice(writes.clone(), &ToolWrites::ALL, ToolWrites::as_str);
    let api = view.table("api").and_then(|table| api::read(&table));
    let actions = action::read_all(view, api.as_ref());
    // If an action could not be read, the class of the others would be wrong.
    if !view.source.has_mistakes() {
        expect_writes(view, writes.as_ref(), declared, &actions);
    }
    let test = view.table("api").and_then(|api| test(&api, &actions));
    let id: ToolId = id?;
    Some(ToolFile {
        test,
        name: name?,
        aliases,
        kind: kind?,
        purpose: purpose?.value,
        description: description?.value,
        owner: owner?.value,
        provider: view
            .text("provider")
            .map_or_else(|| id.to_string(), |text| text.value),
        writes: declared?,
        tags: view.plain_texts("tags"),
        scopes: view.plain_texts("scopes"),
        intents: view.plain_texts("intents"),
        not_tenancy: view.plain_texts("not_tenancy"),
        cost: view.table("cost").map(|it| cost(&it)).unwrap_or_default(),
        api: api.map(Into::into),
        actions,
        path: view.source.file(),
        source: view.source.text.into(),
        lines,
        id,
    })
}

fn id(view: &TableView<'_>) -> Option<ToolId> {
    let file = view.source.file();
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    match stem.parse() {
        Ok(id) => Some(id),
        Err(error) => {
            view.note(ToolFileMistake::Name(error));
            None
        }
    }
}

/// Parses the action that tests a credential. Skips the check if an action could not be read.
fn test(view: &TableView<'_>, actions: &[ToolAction]) -> Option<ActionName> {
    let name = view.text("test")?;
    if view.source.has_mistakes() {
        return None;
    }
    match actions.iter().find(|it| it.name.as_str() == name.value) {
        Some(action) if action.writes == ActionWrites::Read => Some(action.name.clone()),
        found => {
            let mistake = ToolFileMistake::TestAction {
                name: name.value.clone(),
                is_known: found.is_some(),
            };
            view.source.note_at(&name, mistake);
            None
        }
    }
}

fn cost(view: &TableView<'_>) -> DeclaredCost {
    const CALL: &str = "usd_per_call";
    const INPUT: &str = "usd_per_million_input_tokens";
    const OUTPUT: &str = "usd_per_million_output_tokens";
    view.expect_keys(&[CALL, INPUT, OUTPUT]);
    let [
        per_call,
        per_million_input_tokens,
        per_million_output_tokens,
    ] = [CALL, INPUT, OUTPUT].map(|key| view.amount(key).map(NanoUsd::from_usd));
    DeclaredCost {
        per_call,
        per_million_input_tokens,
        per_million_output_tokens,
    }
}

/// The class of the tool is the strongest effect of its actions; only `any` promises nothing.
fn expect_writes(
    view: &TableView<'_>,
    written: Option<&Located<String>>,
    declared: Option<ToolWrites>,
    actions: &[ToolAction],
) {
    let (Some(written), Some(declared)) = (written, declared) else {
        return;
    };
    let found = ToolWrites::from_actions(actions.iter().map(|action| action.writes));
    if declared != ToolWrites::Any && declared != found {
        let mistake = ToolFileMistake::WritesDiffer {
            declared: declared.as_str(),
            found: found.as_str(),
        };
        view.source.note_at(written, mistake);
    }
}

/// Returns the line of each key.
fn lines(text: &str, table: &DeTable<'_>, path: &str) -> BTreeMap<String, usize> {
    let mut all = BTreeMap::new();
    for (key, value) in table {
        let name = key.get_ref();
        let key_path = if path.is_empty() {
            name.to_string()
        } else {
            format!("{path}.{name}")
        };
        if let DeValue::Table(inner) = value.get_ref() {
            all.extend(lines(text, inner, &key_path));
        }
        all.insert(key_path, line_number(text, key.span().start));
    }
    all
}
