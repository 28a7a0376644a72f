//! Rejects unknown keys, keys that conflict with others in their table, and a list where a table is
//! expected.

use kitbag_domain::TomlProblem;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{Fault, Problem};
use super::rows::{KeyRow, KeyTable, TableLayout};
use super::sections::SECTIONS;

type WrittenValue<'i> = Spanned<DeValue<'i>>;

pub(super) fn check_keys(document: &DeTable<'_>) -> Result<(), Fault> {
    check_names(document, SECTIONS.iter().map(|it| it.name).collect(), "")?;
    for section in SECTIONS {
        let Some(written) = document.get(section.name) else {
            continue;
        };
        match section.layout {
            TableLayout::One(known) => check_table(known, written, section.name)?,
            TableLayout::Each(known) => check_each(known, written, section.name, &[])?,
            TableLayout::EachAndOwn { own, each } => {
                check_each(each, written, section.name, own.rows)?;
            }
            TableLayout::Named => {}
        }
    }
    Ok(())
}

fn check_each(
    known: &KeyTable,
    written: &WrittenValue<'_>,
    section: &str,
    but: &[KeyRow],
) -> Result<(), Fault> {
    let tables = written.get_ref().as_table().into_iter().flatten();
    tables
        .filter(|(name, _)| but.iter().all(|row| row.name != name.get_ref()))
        .try_for_each(|(name, table)| {
            check_table(known, table, &format!("{section}.{}", name.get_ref()))
        })
}

fn check_table(known: &KeyTable, written: &WrittenValue<'_>, path: &str) -> Result<(), Fault> {
    let table = match written.get_ref() {
        DeValue::Table(table) => table,
        // serde would assign the items to the fields in order.
        DeValue::Array(_) => {
            let problem = TomlProblem::WrongType {
                expected: "a table".to_owned(),
                found: written.get_ref().type_str(),
            };
            return Err(Fault::new(written.span(), path, problem));
        }
        // serde rejects every other type.
        _ => return Ok(()),
    };
    check_names(table, known.key_names(), path)?;
    check_alternative(known, table, path)?;
    known
        .rows
        .iter()
        .filter_map(|row| Some((row.name, row.value.inner_table()?, table.get(row.name)?)))
        .try_for_each(|(key, known, written)| check_table(known, written, &format!("{path}.{key}")))
}

fn check_names(table: &DeTable<'_>, known: Vec<&'static str>, path: &str) -> Result<(), Fault> {
    let Some(unknown) = table
        .keys()
        .find(|key| !known.contains(&key.get_ref().as_ref()))
    else {
        return Ok(());
    };
    let problem = TomlProblem::unknown_key(unknown.get_ref(), known);
    Err(Fault::new(unknown.span(), path, problem))
}

/// A table with no alternative or with two is rejected later, when its values are read.
fn check_alternative(known: &KeyTable, table: &DeTable<'_>, path: &str) -> Result<(), Fault> {
    let mut chosen = known
        .alternatives
        .iter()
        .filter(|it| table.contains_key(it.key));
    let (Some(alternative), None) = (chosen.next(), chosen.next()) else {
        return Ok(());
    };
    let foreign = known
        .rows
        .iter()
        .filter(|row| !row.applies_to(Some(alternative)))
        .find_map(|row| Some((row.name, table.get(row.name)?)));
    let Some((key, value)) = foreign else {
        return Ok(());
    };
    let kind = alternative.description;
    let problem = Problem::Foreign { key, kind };
    Err(Fault::new(value.span(), path, problem))
}
