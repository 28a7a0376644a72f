//! Kinds of documents: a tool for one kind cannot read a file of another.

use super::DescribedTool;
use super::request_parts::{PartKind, RequestParts};

/// The endings of a kind of document, and what definitions call it.
struct FileKind {
    endings: &'static [&'static str],
    names: &'static [&'static str],
}

const KINDS: &[FileKind] = &[
    FileKind {
        endings: &["pdf"],
        names: &["pdf"],
    },
    FileKind {
        endings: &["docx", "doc"],
        // `word` alone is a word of any definition.
        names: &["docx", "word doc", "microsoft word"],
    },
    FileKind {
        endings: &["pptx", "ppt"],
        names: &["pptx", "powerpoint"],
    },
    FileKind {
        endings: &["xlsx", "xls"],
        names: &["xlsx", "excel", "spreadsheet"],
    },
];

/// True if the request has a file of a kind that the definition does not name, although it names
/// another.
pub(super) fn has_foreign_file(request: &RequestParts<'_>, tool: &DescribedTool<'_>) -> bool {
    let mut asked = (0..request.len())
        .filter(|at| matches!(request.kind(*at), PartKind::Path | PartKind::Quoted))
        .filter_map(|at| kind_of(request.raw(at)))
        .peekable();
    if asked.peek().is_none() {
        return false;
    }
    let DescribedTool {
        server,
        name,
        description,
        schema,
        ..
    } = tool;
    let text = format!("{server} {name} {description} {schema}").to_lowercase();
    let names = |kind: &FileKind| kind.names.iter().any(|it| text.contains(it));
    KINDS.iter().any(names) && asked.any(|kind| !names(kind))
}

fn kind_of(path: &str) -> Option<&'static FileKind> {
    let (_, ending) = path.rsplit_once('.')?;
    let ending = ending.to_lowercase();
    KINDS
        .iter()
        .find(|kind| kind.endings.contains(&ending.as_str()))
}
