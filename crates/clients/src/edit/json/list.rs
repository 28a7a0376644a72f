//! Edits of lists in JSON, by the same rules as for objects.

use serde_json::Value;

use super::{Indentation, JsonDocument, JsonText, format_value, indent};
use crate::edit::FileEditError;
use crate::tree::Node;

/// Adds an item at the end of the list `name` in an object, creating missing objects on the way.
pub(in crate::edit) fn add_item(
    text: &str,
    keys: &[&str],
    name: &str,
    item: &Value,
) -> Result<String, FileEditError> {
    let document = JsonDocument::parse(text)?;
    match document.root.at(&[keys, &[name]].concat()) {
        None => document.insert(keys, name, JsonText::Ours(&Value::from([item.clone()]))),
        Some(list) => document.append_item(list, item),
    }
}

/// Removes an item of a list.
pub(in crate::edit) fn remove_item(
    text: &str,
    keys: &[&str],
    index: usize,
) -> Result<String, FileEditError> {
    let document = JsonDocument::parse(text)?;
    let list = document.root.at(keys).ok_or(FileEditError::Entangled)?;
    let items = list.list().ok_or(FileEditError::Entangled)?.iter();
    let items: Vec<_> = items.map(|item| item.span.clone()).collect();
    Ok(document.remove_member(list, &items, index))
}

impl JsonDocument<'_> {
    fn append_item(&self, list: &Node, item: &Value) -> Result<String, FileEditError> {
        let items = list.list().ok_or(FileEditError::Entangled)?;
        let end = self.end_after(list, items.last().map(|item| item.span.end));
        let item = format_value(item, Indentation::ONE_LINE);
        Ok(match items.first().map(|first| first.span.start) {
            None => self.append_in_line(&end, &item),
            Some(first) if self.text[list.span.start..first].contains('\n') => {
                let line = format!("\n{}{item}", indent(self.text, first));
                self.append_line(&end, &line, indent(self.text, list.span.start))
            }
            Some(_) => self.append_in_line(&end, &format!(" {item}")),
        })
    }
}
