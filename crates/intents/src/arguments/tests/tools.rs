//! The tools of the claims, modelled on real servers.

use kitbag_domain::WriteClass;
use serde_json::{Value, json};

/// A tool by its name: server, description, class, required and optional parameters.
pub(super) fn tool(name: &str) -> (&'static str, &'static str, WriteClass, Value) {
    use WriteClass::{Destructive, Read, Unknown, Write};
    let text = json!({ "type": "string" });
    let number = json!({ "type": "integer" });
    let object = |properties: Value, required: Value| json!({ "type": "object", "properties": properties, "required": required });
    match name {
        "read_file" => (
            "files",
            "Reads a file.",
            Read,
            object(
                json!({ "path": text, "head": number, "tail": number }),
                json!(["path"]),
            ),
        ),
        "list_directory" => (
            "files",
            "Lists a directory.",
            Read,
            object(json!({ "path": text }), json!(["path"])),
        ),
        "search_files" => (
            "files",
            "Finds files: `*.ext` here, `**/*.ext` at any depth.",
            Read,
            object(
                json!({ "path": text, "pattern": text }),
                json!(["path", "pattern"]),
            ),
        ),
        "move_file" => (
            "files",
            "Moves or renames a file.",
            Destructive,
            object(
                json!({ "source": text, "destination": text }),
                json!(["source", "destination"]),
            ),
        ),
        "write_file" => (
            "files",
            "Writes a file.",
            Write,
            object(
                json!({ "path": text, "content": text }),
                json!(["path", "content"]),
            ),
        ),
        "delete_file" => (
            "files",
            "Deletes a file.",
            Destructive,
            object(json!({ "path": text }), json!(["path"])),
        ),
        "git_log" => (
            "git",
            "Shows the commit logs of a repository",
            Read,
            object(
                json!({ "repo_path": text, "max_count": number }),
                json!(["repo_path"]),
            ),
        ),
        "convert_time" => (
            "time",
            "Converts a time between zones",
            Read,
            object(
                json!({ "source_timezone": text, "time": text, "target_timezone": text }),
                json!(["source_timezone", "time", "target_timezone"]),
            ),
        ),
        "get_current_time" => (
            "time",
            "Gets the current time",
            Read,
            object(
                json!({ "timezone": { "type": "string", "description": "IANA timezone" } }),
                json!(["timezone"]),
            ),
        ),
        "read_query" => (
            "db",
            "Runs a SELECT query",
            Read,
            object(json!({ "query": text }), json!(["query"])),
        ),
        "write_query" => (
            "db",
            "Runs an INSERT, UPDATE or DELETE query",
            Unknown,
            object(json!({ "query": text }), json!(["query"])),
        ),
        "describe_table" => (
            "db",
            "Gets the schema of a table",
            Read,
            object(json!({ "table_name": text }), json!(["table_name"])),
        ),
        "search_notes" => (
            "notes",
            "Searches notes",
            Read,
            object(json!({ "query": text }), json!(["query"])),
        ),
        "read_range" => (
            "sheets",
            "Reads cells of a sheet",
            Read,
            object(
                json!({ "sheet": text, "range": { "type": ["string", "null"], "description": "such as A1:D10" } }),
                json!(["sheet"]),
            ),
        ),
        "convert_duration" => (
            "units",
            "Converts a duration between units.",
            Unknown,
            object(
                json!({
                    "value": { "type": "number" },
                    "from_unit": { "enum": ["hour", "light year", "minute"] },
                    "to_unit": { "enum": ["hour", "light year", "minute"] },
                }),
                json!(["value", "from_unit", "to_unit"]),
            ),
        ),
        "convert_any" => (
            "units",
            "Converts between units.",
            Unknown,
            object(
                json!({ "value": { "type": "number" }, "from_unit": text, "to_unit": text }),
                json!(["value", "from_unit", "to_unit"]),
            ),
        ),
        "query" => (
            "lake",
            "Executes a query on the database",
            Unknown,
            object(
                json!({ "query": { "type": "string", "description": "SQL to execute" } }),
                json!(["query"]),
            ),
        ),
        "volume_info" => (
            "books",
            "Size and author of a book",
            Unknown,
            object(json!({ "path": text }), json!(["path"])),
        ),
        "volume_warm_cache" => (
            "books",
            "Caches the info of a book",
            Unknown,
            object(json!({ "path": text }), json!(["path"])),
        ),
        "add_slide" => (
            "slides",
            "Adds a slide",
            Unknown,
            object(json!({ "title": text, "layout": number }), json!([])),
        ),
        "create_slide_from_template" => (
            "slides",
            "Creates a slide from a template, with a title",
            Unknown,
            object(json!({ "template_id": text }), json!(["template_id"])),
        ),
        "letter_info" => (
            "letters",
            "Info about a Word document",
            Read,
            object(json!({ "filename": text }), json!(["filename"])),
        ),
        "task_get" => (
            "tasks",
            "Gets a task",
            Read,
            object(json!({ "id": number }), json!(["id"])),
        ),
        "task_list" => (
            "tasks",
            "Lists tasks",
            Read,
            object(
                json!({ "keyword": text, "status": { "enum": ["open", "done"] } }),
                json!([]),
            ),
        ),
        other => panic!("no tool {other}"),
    }
}
