//! Each key of the configuration is a row, and each table is a list of rows.
//!
//! The check for unknown keys, `kitbag config show`, the restart notices and the tables of
//! `docs/configuration.md` are all generated from the rows. A test compares the rows with the
//! fields that serde reads.

use std::time::Duration;

use jiff::SignedDuration;
use toml::Value;

use super::Config;

/// A section of the file.
pub(crate) struct SectionRow {
    pub(crate) name: &'static str,
    pub(crate) layout: TableLayout,
    /// Serializes the effective values, for comparison with another read. Absent where another
    /// section or another report covers the same values.
    pub(crate) fingerprint: Option<fn(&Config) -> String>,
}

/// The tables of a section.
#[derive(Clone, Copy)]
pub(crate) enum TableLayout {
    One(&'static KeyTable),
    /// One table per name.
    Each(&'static KeyTable),
    /// One table per name, in addition to keys of its own.
    EachAndOwn {
        own: &'static KeyTable,
        each: &'static KeyTable,
    },
    /// The user chooses every key.
    Named,
}

pub(crate) struct KeyTable {
    /// The path of the table, with `NAME` for a name that the user chooses.
    pub(crate) path: &'static str,
    /// Keys of which a table has exactly one, if there are alternatives.
    pub(crate) alternatives: &'static [Alternative],
    pub(crate) rows: &'static [KeyRow],
}

/// A key that determines which other keys apply.
pub(crate) struct Alternative {
    pub(crate) key: &'static str,
    /// Describes the thing that has this key.
    pub(crate) description: &'static str,
}

pub(crate) struct KeyRow {
    pub(crate) name: &'static str,
    pub(crate) value: ValueType,
    pub(crate) default: Fallback,
    pub(crate) secrecy: Secrecy,
    /// True if variables in the value are expanded.
    pub(crate) fills_variables: bool,
    /// The key of the alternative that this key depends on.
    pub(crate) only_with: Option<&'static str>,
    pub(crate) restart: Option<Restart>,
    /// The explanation in the reference, as Markdown.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "only a test writes the reference")
    )]
    pub(crate) meaning: &'static str,
}

#[derive(Clone, Copy)]
pub(crate) enum ValueType {
    Text,
    WholeNumber,
    Number,
    Flag,
    Duration,
    Texts,
    /// A table of strings with keys chosen by the user.
    Pairs,
    /// A table of values of any type with keys chosen by the user.
    Values,
    Table(&'static KeyTable),
    TextOrTable(&'static KeyTable),
}

/// The value of a key that is not set.
#[derive(Clone, Copy)]
pub(crate) enum Fallback {
    Text(fn() -> String),
    Flag(fn() -> bool),
    Number(fn() -> usize),
    Duration(fn() -> Duration),
    Texts(fn() -> Vec<String>),
    EmptyTable,
    /// The value depends on the machine. The reference describes it in words.
    FromConfig(
        fn(&Config) -> Value,
        #[cfg_attr(
            not(test),
            expect(dead_code, reason = "only a test writes the reference")
        )]
        &'static str,
    ),
    /// There is no value. The reference describes the effect.
    Unset(
        #[cfg_attr(
            not(test),
            expect(dead_code, reason = "only a test writes the reference")
        )]
        &'static str,
    ),
}

/// The part of a value that may be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Secrecy {
    Open,
    /// Only the variables in the value may be shown.
    Whole,
    /// The value is a list of command-line words, some of which may be secrets.
    Words,
    /// The value is a URL, which may contain a password or a key.
    Address,
}

/// Marks a key whose change takes effect only after a restart.
#[derive(Clone, Copy)]
pub(crate) struct Restart {
    /// True if both configurations have the same value.
    pub(crate) same: fn(&Config, &Config) -> bool,
    /// The sentence for the reference.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "only a test writes the reference")
    )]
    pub(crate) note: &'static str,
}

impl SectionRow {
    /// A section with one table and its name.
    pub(crate) const fn one(table: &'static KeyTable, fingerprint: fn(&Config) -> String) -> Self {
        Self {
            name: table.path,
            layout: TableLayout::One(table),
            fingerprint: Some(fingerprint),
        }
    }
}

impl KeyTable {
    pub(crate) fn key_names(&self) -> Vec<&'static str> {
        self.rows.iter().map(|row| row.name).collect()
    }

    /// Returns the alternative that a table with these keys uses, or else the last one.
    pub(crate) fn chosen_alternative(
        &self,
        has: impl Fn(&str) -> bool,
    ) -> Option<&'static Alternative> {
        let chosen = self.alternatives.iter().find(|it| has(it.key));
        chosen.or(self.alternatives.last())
    }
}

impl KeyRow {
    /// The common case; rows state only their differences from it.
    pub(crate) const PLAIN: Self = Self {
        name: "",
        value: ValueType::Text,
        default: Fallback::Unset(""),
        secrecy: Secrecy::Open,
        fills_variables: false,
        only_with: None,
        restart: None,
        meaning: "",
    };

    /// A table of strings that is empty by default.
    pub(crate) const PAIRS: Self = Self::with_default(ValueType::Pairs, Fallback::EmptyTable);

    pub(crate) const fn text(default: fn() -> String) -> Self {
        Self::with_default(ValueType::Text, Fallback::Text(default))
    }

    pub(crate) const fn flag(default: fn() -> bool) -> Self {
        Self::with_default(ValueType::Flag, Fallback::Flag(default))
    }

    pub(crate) const fn number(default: fn() -> usize) -> Self {
        Self::with_default(ValueType::WholeNumber, Fallback::Number(default))
    }

    pub(crate) const fn duration(default: fn() -> Duration) -> Self {
        Self::with_default(ValueType::Duration, Fallback::Duration(default))
    }

    pub(crate) const fn texts(default: fn() -> Vec<String>) -> Self {
        Self::with_default(ValueType::Texts, Fallback::Texts(default))
    }

    /// A text without a default. `effect` describes it for the reference.
    pub(crate) const fn unset(effect: &'static str) -> Self {
        Self::with_default(ValueType::Text, Fallback::Unset(effect))
    }

    const fn with_default(value: ValueType, default: Fallback) -> Self {
        Self {
            value,
            default,
            ..Self::PLAIN
        }
    }

    pub(crate) fn applies_to(&self, alternative: Option<&Alternative>) -> bool {
        self.only_with
            .is_none_or(|key| alternative.is_some_and(|it| it.key == key))
    }
}

impl ValueType {
    /// Returns the table under the key, if Kitbag and not the user defines its keys.
    pub(crate) fn inner_table(self) -> Option<&'static KeyTable> {
        match self {
            Self::Table(table) | Self::TextOrTable(table) => Some(table),
            _ => None,
        }
    }
}

impl Fallback {
    pub(crate) fn to_value(self, config: &Config) -> Option<Value> {
        Some(match self {
            Self::Text(text) => text().into(),
            Self::Flag(flag) => flag().into(),
            Self::Number(number) => i64::try_from(number()).unwrap_or(i64::MAX).into(),
            Self::Duration(duration) => {
                let duration = SignedDuration::try_from(duration()).unwrap_or(SignedDuration::MAX);
                format!("{duration:#}").into()
            }
            Self::Texts(texts) => texts().into(),
            Self::EmptyTable => toml::Table::new().into(),
            Self::FromConfig(value, _) => value(config),
            Self::Unset(_) => return None,
        })
    }
}

impl Restart {
    pub(crate) const fn unless_same(same: fn(&Config, &Config) -> bool) -> Self {
        Self {
            same,
            note: "A change needs a restart.",
        }
    }
}
