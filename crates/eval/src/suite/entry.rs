//! An object of a suite whose fields are taken one by one, so that an error can name the field.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{SuiteFault, SuiteProblem};

/// Every field that is left at the end is unknown.
pub(super) struct SuiteEntry {
    path: String,
    fields: Map<String, Value>,
}

impl SuiteEntry {
    pub(super) fn from_value(path: String, value: Value) -> Result<Self, SuiteFault> {
        match value {
            Value::Object(fields) => Ok(Self { path, fields }),
            other => Err(SuiteFault {
                entry: path,
                field: String::new(),
                problem: SuiteProblem::WrongType {
                    reason: format!("expected an object, not {other}"),
                },
            }),
        }
    }

    pub(super) fn take_required<T: DeserializeOwned>(
        &mut self,
        field: &str,
    ) -> Result<T, SuiteFault> {
        match self.fields.remove(field) {
            Some(value) => self.deserialize_field(field, value),
            None => Err(self.field_fault(field, SuiteProblem::Missing)),
        }
    }

    pub(super) fn take_required_text(&mut self, field: &str) -> Result<String, SuiteFault> {
        let text: String = self.take_required(field)?;
        if text.trim().is_empty() {
            Err(self.field_fault(field, SuiteProblem::Empty))
        } else {
            Ok(text)
        }
    }

    pub(super) fn take_optional<T: DeserializeOwned + Default>(
        &mut self,
        field: &str,
    ) -> Result<T, SuiteFault> {
        match self.fields.remove(field) {
            Some(value) => self.deserialize_field(field, value),
            None => Ok(T::default()),
        }
    }

    pub(super) fn take_list<T>(
        &mut self,
        field: &str,
        read: fn(Self) -> Result<T, SuiteFault>,
    ) -> Result<Vec<T>, SuiteFault> {
        let values: Vec<Value> = self.take_optional(field)?;
        read_entries(values, &format!("{}, {field}", self.path), read)
    }

    /// Reads an object inside this one, if it is there.
    pub(super) fn take_object<T>(
        &mut self,
        field: &str,
        read: fn(Self) -> Result<T, SuiteFault>,
    ) -> Result<Option<T>, SuiteFault> {
        let Some(value) = self.fields.remove(field) else {
            return Ok(None);
        };
        let path = format!("{}, {field}", self.path);
        read(Self::from_value(path, value)?).map(Some)
    }

    pub(super) fn reject_unknown_fields(self, known: &[&str]) -> Result<(), SuiteFault> {
        let Some(field) = self.fields.keys().next() else {
            return Ok(());
        };
        let known = known.join(", ");
        Err(self.field_fault(field, SuiteProblem::Unknown { known }))
    }

    fn deserialize_field<T: DeserializeOwned>(
        &self,
        field: &str,
        value: Value,
    ) -> Result<T, SuiteFault> {
        serde_json::from_value(value).map_err(|error| {
            let reason = error.to_string();
            self.field_fault(field, SuiteProblem::WrongType { reason })
        })
    }

    pub(super) fn field_fault(&self, field: &str, problem: SuiteProblem) -> SuiteFault {
        SuiteFault {
            entry: self.path.clone(),
            field: field.to_owned(),
            problem,
        }
    }
}

/// Reads each entry of a list.
pub(super) fn read_entries<T>(
    values: Vec<Value>,
    list: &str,
    read: fn(SuiteEntry) -> Result<T, SuiteFault>,
) -> Result<Vec<T>, SuiteFault> {
    let numbered = values.into_iter().enumerate();
    numbered
        .map(|(number, value)| {
            read(SuiteEntry::from_value(
                entry_path(list, number, &value),
                value,
            )?)
        })
        .collect()
}

/// Describes an entry by its number and, if it has one, by its id: `prompts[3] (p04)`.
fn entry_path(list: &str, number: usize, value: &Value) -> String {
    match value.get("id").and_then(Value::as_str) {
        Some(id) => format!("{list}[{number}] ({id})"),
        None => format!("{list}[{number}]"),
    }
}
