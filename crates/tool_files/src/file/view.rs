//! A table of a tool file, whose values are read one by one; each mistake is noted with its
//! position.
//!
//! Reading continues after a mistake, so that a user sees all of them at once.

use std::cell::RefCell;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use jiff::civil::Date;
use kitbag_domain::TomlProblem;
use kitbag_domain::toml_problem::line_number;
use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::mistake::{ToolFileError, ToolFileMistake};

/// The text being read, and the mistakes found in it so far.
pub(crate) struct FileText<'t> {
    pub(crate) text: &'t str,
    file: &'t Path,
    mistakes: RefCell<Vec<ToolFileError>>,
}

/// A table, and its position.
pub(crate) struct TableView<'t> {
    pub(crate) source: &'t FileText<'t>,
    table: &'t DeTable<'t>,
    path: String,
    span: Range<usize>,
}

/// A value, and its position.
#[derive(Debug, Clone)]
pub(crate) struct Located<T> {
    pub(crate) value: T,
    pub(crate) span: Range<usize>,
    pub(crate) key: String,
}

impl<'t> FileText<'t> {
    pub(crate) fn new(text: &'t str, file: &'t Path) -> Self {
        Self {
            text,
            file,
            mistakes: RefCell::default(),
        }
    }

    pub(crate) fn note(
        &self,
        offset: usize,
        key: impl Into<String>,
        mistake: impl Into<ToolFileMistake>,
    ) {
        self.mistakes.borrow_mut().push(ToolFileError {
            file: self.file.to_owned(),
            line: self.line(offset),
            key: key.into(),
            mistake: mistake.into(),
        });
    }

    pub(crate) fn note_at<T>(&self, value: &Located<T>, mistake: impl Into<ToolFileMistake>) {
        self.note(value.span.start, &value.key, mistake);
    }

    /// Notes a mistake at the text that it is about, somewhere within the value.
    pub(crate) fn note_within<T>(
        &self,
        value: &Located<T>,
        words: &str,
        mistake: impl Into<ToolFileMistake>,
    ) {
        let inside = self.text.get(value.span.clone()).unwrap_or_default();
        let offset = value.span.start + inside.find(words).unwrap_or(0);
        self.note(offset, &value.key, mistake);
    }

    pub(crate) fn line(&self, offset: usize) -> usize {
        line_number(self.text, offset)
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.file.to_owned()
    }

    pub(crate) fn has_mistakes(&self) -> bool {
        !self.mistakes.borrow().is_empty()
    }

    pub(crate) fn into_mistakes(self) -> Vec<ToolFileError> {
        self.mistakes.into_inner()
    }
}

impl<'t> TableView<'t> {
    pub(crate) fn root(source: &'t FileText<'t>, table: &'t Spanned<DeTable<'t>>) -> Self {
        Self {
            source,
            table: table.get_ref(),
            path: String::new(),
            span: 0..0,
        }
    }

    /// Notes every unknown key.
    pub(crate) fn expect_keys(&self, known: &[&'static str]) {
        for key in self.table.keys() {
            let name = key.get_ref().as_ref();
            if !known.contains(&name) {
                let mistake = TomlProblem::unknown_key(name, known.to_vec());
                self.source.note(key.span().start, &self.path, mistake);
            }
        }
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    pub(crate) fn note(&self, mistake: impl Into<ToolFileMistake>) {
        self.source.note(self.span.start, &self.path, mistake);
    }

    /// Notes a mistake at one of the keys.
    pub(crate) fn note_key(&self, key: &str, mistake: impl Into<ToolFileMistake>) {
        let offset = self
            .table
            .get(key)
            .map_or(self.span.start, |value| value.span().start);
        self.source.note(offset, self.key(key), mistake);
    }

    /// Returns a text that is not blank.
    pub(crate) fn text(&self, key: &str) -> Option<Located<String>> {
        let value = self.value(key)?;
        let text = self.text_of(&value)?;
        if text.value.trim().is_empty() {
            self.source.note_at(&text, ToolFileMistake::EmptyValue);
            return None;
        }
        Some(text)
    }

    /// Returns a text that may be empty.
    pub(crate) fn any_text(&self, key: &str) -> Option<Located<String>> {
        self.text_of(&self.value(key)?)
    }

    /// Returns a required text.
    pub(crate) fn needed_text(&self, key: &'static str) -> Option<Located<String>> {
        if !self.has(key) {
            self.note(ToolFileMistake::MissingKey { key });
        }
        self.text(key)
    }

    pub(crate) fn parse_text<T: FromStr>(&self, text: Option<Located<String>>) -> Option<T>
    where
        ToolFileMistake: From<T::Err>,
    {
        let text = text?;
        match text.value.parse() {
            Ok(parsed) => Some(parsed),
            Err(error) => {
                self.source.note_at(&text, error);
                None
            }
        }
    }

    /// Returns the one of several values that a text names.
    pub(crate) fn choice<T: Copy>(
        &self,
        text: Option<Located<String>>,
        choices: &[T],
        name: fn(T) -> &'static str,
    ) -> Option<T> {
        let text = text?;
        let found = choices.iter().find(|it| name(**it) == text.value).copied();
        if found.is_none() {
            let choices: Vec<&'static str> = choices.iter().map(|it| name(*it)).collect();
            let mistake = TomlProblem::not_one_of(&text.value, choices);
            self.source.note_at(&text, mistake);
        }
        found
    }

    pub(crate) fn texts(&self, key: &str) -> Vec<Located<String>> {
        let Some(value) = self.value(key) else {
            return Vec::new();
        };
        let DeValue::Array(items) = value.value else {
            self.wrong_type(&value, "an array of texts");
            return Vec::new();
        };
        let items = items.iter().map(|item| self.locate(key, item));
        items.filter_map(|item| self.text_of(&item)).collect()
    }

    pub(crate) fn plain_texts(&self, key: &str) -> Vec<String> {
        self.texts(key).into_iter().map(|text| text.value).collect()
    }

    pub(crate) fn table(&self, key: &str) -> Option<Self> {
        let value = self.value(key)?;
        self.view(value)
    }

    /// Returns the tables of a table with freely chosen names.
    pub(crate) fn tables(&self, key: &str) -> Vec<(Located<String>, Self)> {
        let Some(outer) = self.table(key) else {
            return Vec::new();
        };
        let tables = outer.entries().into_iter();
        tables
            .filter_map(|(name, value)| Some((name, outer.view(value)?)))
            .collect()
    }

    /// Returns the texts of a table with freely chosen names. Numbers and booleans count as texts.
    pub(crate) fn pairs(&self, key: &str) -> Vec<(Located<String>, Located<String>)> {
        let Some(table) = self.table(key) else {
            return Vec::new();
        };
        let pairs = table.entries().into_iter();
        pairs
            .filter_map(|(name, value)| Some((name, table.written_text(&value)?)))
            .collect()
    }

    /// Returns the tables of a list of tables.
    pub(crate) fn rows(&self, key: &str) -> Vec<Self> {
        let Some(value) = self.value(key) else {
            return Vec::new();
        };
        let DeValue::Array(items) = value.value else {
            self.wrong_type(&value, "a list of tables");
            return Vec::new();
        };
        let items = items.iter().map(|item| self.locate(key, item));
        items.filter_map(|item| self.view(item)).collect()
    }

    /// Returns the numbers of a table with freely chosen names.
    pub(crate) fn amounts(&self, key: &str) -> Vec<(String, f64)> {
        let Some(table) = self.table(key) else {
            return Vec::new();
        };
        let names = table.entries().into_iter().map(|(name, _)| name.value);
        names
            .filter_map(|name| Some((name.clone(), table.amount(&name)?)))
            .collect()
    }

    /// Notes every key that is neither known nor common to all rows of dated data.
    pub(crate) fn expect_dated_keys(&self, known: &[&'static str]) {
        let dated = ["valid_from", "valid_until", "source"];
        let all: Vec<&'static str> = known.iter().copied().chain(dated).collect();
        self.expect_keys(&all);
    }

    pub(crate) fn needed_date(&self, key: &'static str) -> Option<Date> {
        if !self.has(key) {
            self.note(ToolFileMistake::MissingKey { key });
        }
        self.date(key)
    }

    /// Returns a date, written like 2026-05-17.
    pub(crate) fn date(&self, key: &str) -> Option<Date> {
        let value = self.value(key)?;
        let day = match value.value {
            DeValue::Datetime(day) => day.to_string().parse().ok(),
            _ => None,
        };
        if day.is_none() {
            self.wrong_type(&value, "a day such as 2026-05-17");
        }
        day
    }

    pub(crate) fn line(&self) -> usize {
        self.source.line(self.span.start)
    }

    pub(crate) fn flag(&self, key: &str) -> Option<bool> {
        let value = self.value(key)?;
        let flag = value.value.as_bool();
        if flag.is_none() {
            self.wrong_type(&value, "true or false");
        }
        flag
    }

    pub(crate) fn number(&self, key: &str, least: i64) -> Option<i64> {
        let value = self.value(key)?;
        let Some(number) = value.value.as_integer() else {
            self.wrong_type(&value, "a whole number");
            return None;
        };
        let found = i64::from_str_radix(number.as_str(), number.radix()).ok();
        let fitting = found.filter(|found| *found >= least);
        if fitting.is_none() {
            let found = number.as_str().to_owned();
            self.source
                .note_at(&value, TomlProblem::TooSmall { found, least });
        }
        fitting
    }

    /// Returns an amount of money, or another non-negative number.
    pub(crate) fn amount(&self, key: &str) -> Option<f64> {
        let value = self.value(key)?;
        let written = match value.value {
            DeValue::Float(float) => float.as_str(),
            DeValue::Integer(number) => number.as_str(),
            _ => {
                self.wrong_type(&value, "a number");
                return None;
            }
        };
        let found: Option<f64> = written.parse().ok();
        let fitting = found.filter(|found| found.is_finite() && *found >= 0.0);
        if fitting.is_none() {
            let found = written.to_owned();
            self.source
                .note_at(&value, TomlProblem::TooSmall { found, least: 0 });
        }
        fitting
    }

    pub(crate) fn duration(&self, key: &str) -> Option<Duration> {
        let text = self.text(key)?;
        let signed: Option<jiff::SignedDuration> = text.value.parse().ok();
        let duration = signed.and_then(|it| Duration::try_from(it).ok());
        let duration = duration.filter(|it| !it.is_zero());
        if duration.is_none() {
            let found = text.value.clone();
            self.source.note_at(&text, TomlProblem::Duration { found });
        }
        duration
    }

    /// Returns a JSON value that is written as text.
    pub(crate) fn json(&self, text: &Located<String>) -> Option<Value> {
        match serde_json::from_str(&text.value) {
            Ok(value) => Some(value),
            Err(error) => {
                let before: usize = text
                    .value
                    .split_inclusive('\n')
                    .take(error.line().saturating_sub(1))
                    .map(str::len)
                    .sum();
                let offset = text.span.start + self.opening_length(&text.span) + before;
                let message = error.to_string();
                let message = message
                    .split(" at line")
                    .next()
                    .unwrap_or_default()
                    .to_owned();
                self.source
                    .note(offset, &text.key, ToolFileMistake::NotJson { message });
                None
            }
        }
    }

    /// Returns the length of a text's opening quotes in bytes.
    pub(crate) fn opening_length(&self, span: &Range<usize>) -> usize {
        let written = self.source.text.get(span.clone()).unwrap_or_default();
        ["'''\n", "\"\"\"\n", "'''\r\n", "'''", "\"\"\""]
            .iter()
            .find(|opening| written.starts_with(**opening))
            .map_or(1, |opening| opening.len())
    }

    fn key(&self, key: &str) -> String {
        match self.path.as_str() {
            "" => key.to_owned(),
            path => format!("{path}.{key}"),
        }
    }

    fn value(&self, key: &str) -> Option<Located<&'t DeValue<'t>>> {
        Some(self.locate(key, self.table.get(key)?))
    }

    fn locate(&self, key: &str, value: &'t Spanned<DeValue<'t>>) -> Located<&'t DeValue<'t>> {
        Located {
            value: value.get_ref(),
            span: value.span(),
            key: self.key(key),
        }
    }

    fn entries(&self) -> Vec<(Located<String>, Located<&'t DeValue<'t>>)> {
        let entries = self.table.iter().map(|(name, value)| {
            let name = Located {
                value: name.get_ref().to_string(),
                span: name.span(),
                key: self.key(name.get_ref()),
            };
            let value = self.locate(&name.value, value);
            (name, value)
        });
        let mut entries: Vec<_> = entries.collect();
        // In file order.
        entries.sort_by_key(|(name, _)| name.span.start);
        entries
    }

    fn view(&self, value: Located<&'t DeValue<'t>>) -> Option<Self> {
        match value.value {
            DeValue::Table(table) => Some(Self {
                source: self.source,
                table,
                path: value.key,
                span: value.span,
            }),
            _ => {
                self.wrong_type(&value, "a table");
                None
            }
        }
    }

    fn text_of(&self, value: &Located<&'t DeValue<'t>>) -> Option<Located<String>> {
        match value.value {
            DeValue::String(text) => Some(value.with(text.to_string())),
            _ => {
                self.wrong_type(value, "a text");
                None
            }
        }
    }

    fn written_text(&self, value: &Located<&'t DeValue<'t>>) -> Option<Located<String>> {
        match value.value {
            DeValue::Integer(number) => Some(value.with(number.as_str().to_owned())),
            DeValue::Float(number) => Some(value.with(number.as_str().to_owned())),
            DeValue::Boolean(flag) => Some(value.with(flag.to_string())),
            _ => self.text_of(value),
        }
    }

    fn wrong_type(&self, value: &Located<&DeValue<'_>>, expected: &'static str) {
        let found = value.value.type_str();
        self.source.note_at(
            value,
            TomlProblem::WrongType {
                expected: expected.to_owned(),
                found,
            },
        );
    }
}

impl<T> Located<T> {
    pub(crate) fn with<U>(&self, value: U) -> Located<U> {
        Located {
            value,
            span: self.span.clone(),
            key: self.key.clone(),
        }
    }
}
