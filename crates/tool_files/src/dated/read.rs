//! Parses the rows of a data file. A file may have rows of all kinds.

use std::path::Path;

use kitbag_domain::TomlProblem;
use toml::de::DeTable;

use super::rows::DatedEntry;
use super::{DatedData, DatedRow, DatedRows};
use crate::file::mistake::{ToolFileError, ToolFileMistake};
use crate::file::view::{FileText, TableView};

pub(super) fn read(data: &mut DatedData, path: &Path, text: &str) -> Vec<ToolFileError> {
    let source = FileText::new(text, path);
    match DeTable::parse(text) {
        Ok(table) => read_tables(data, &TableView::root(&source, &table)),
        Err(error) => {
            let message = error.message().to_owned();
            let offset = error.span().map_or(0, |span| span.start);
            source.note(offset, "", TomlProblem::Syntax { message });
        }
    }
    source.into_mistakes()
}

fn read_tables(data: &mut DatedData, view: &TableView<'_>) {
    view.expect_keys(&["model", "alias", "tier", "route", "provider", "profile"]);
    read_rows(&mut data.models, view);
    read_rows(&mut data.aliases, view);
    read_rows(&mut data.tiers, view);
    read_rows(&mut data.routes, view);
    read_rows(&mut data.providers, view);
    read_rows(&mut data.profiles, view);
}

fn read_rows<T: DatedEntry>(rows: &mut DatedRows<T>, view: &TableView<'_>) {
    let tables = view.rows(T::TABLE);
    rows.rows.extend(tables.iter().filter_map(read_row));
}

fn read_row<T: DatedEntry>(view: &TableView<'_>) -> Option<DatedRow<T>> {
    let value = T::read(view);
    view.needed_text("source");
    let (from, until) = (view.needed_date("valid_from"), view.date("valid_until"));
    let from = from?;
    if until.is_some_and(|until| until <= from) {
        view.note_key("valid_until", ToolFileMistake::EndsBeforeBeginning);
    }
    Some(DatedRow {
        value: value?,
        from,
        until,
        file: view.source.file(),
        line: view.line(),
    })
}
