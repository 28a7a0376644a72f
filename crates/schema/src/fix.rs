//! Changes of a value, each at a JSON pointer.

use serde_json::{Map, Value};

use super::pointer::unescape;

pub(super) enum Fix {
    Put { path: String, value: Value },
    Move { from: String, to: String },
    Remove { path: String },
}

pub(super) fn apply(value: &mut Value, fixes: Vec<Fix>) {
    let mut removed = Vec::new();
    for fix in fixes {
        match fix {
            Fix::Put { path, value: new } => put(value, &path, new),
            Fix::Move { from, to } => move_member(value, &from, &to),
            Fix::Remove { path } => removed.push(path),
        }
    }
    // The last is removed first, so that the indexes of earlier items stay valid.
    removed.dedup();
    for path in removed.iter().rev() {
        remove(value, path);
    }
}

/// The missing name and the unknown one both cause the same move, so the second has no effect.
fn move_member(value: &mut Value, from: &str, to: &str) {
    if value.pointer(to).is_none()
        && let Some(moved) = remove(value, from)
    {
        put(value, to, moved);
    }
}

fn put(value: &mut Value, path: &str, new: Value) {
    if let Some(slot) = value.pointer_mut(path) {
        *slot = new;
        return;
    }
    let Some((parent, name)) = path.rsplit_once('/') else {
        return;
    };
    if let Some(Value::Object(members)) = value.pointer_mut(parent) {
        members.insert(unescape(name), new);
    }
}

fn remove(value: &mut Value, path: &str) -> Option<Value> {
    let (parent, name) = path.rsplit_once('/')?;
    match value.pointer_mut(parent)? {
        // Keeps the order of the others.
        Value::Object(members) => Map::shift_remove(members, &unescape(name)),
        Value::Array(items) => {
            let at: usize = name.parse().ok().filter(|at| *at < items.len())?;
            Some(items.remove(at))
        }
        _ => None,
    }
}
