//! Finds rows that hold on the same day, rows that lead nowhere, and things about which nothing holds any more.

use std::collections::BTreeMap;

use jiff::civil::Date;

use super::rows::DatedEntry;
use super::{DatedData, DatedRow, DatedRows};
use crate::checks::{CheckFinding, CheckId};

pub(crate) fn check(data: &DatedData, today: Date) -> Vec<CheckFinding> {
    let mut findings = overlaps(&data.models);
    findings.extend(overlaps(&data.aliases));
    findings.extend(overlaps(&data.tiers));
    findings.extend(overlaps(&data.routes));
    findings.extend(overlaps(&data.providers));
    findings.extend(overlaps(&data.profiles));
    findings.extend(ended(&data.tiers, today));
    findings.extend(ended(&data.routes, today));
    findings.extend(ended(&data.providers, today));
    findings.extend(ended(&data.profiles, today));
    findings.extend(lost_models(data, today));
    findings
}

/// Two rows about one thing that hold on the same day contradict each other.
fn overlaps<T: DatedEntry>(rows: &DatedRows<T>) -> Vec<CheckFinding> {
    let mut findings = Vec::new();
    for rows in by_subject(rows).into_values() {
        for pair in rows.windows(2) {
            let [earlier, later] = pair else { continue };
            if earlier.until.is_none_or(|until| later.from < until) {
                findings.push(finding(
                    later,
                    format!(
                        "`{}` has two rows that hold on {}; the other is on line {} of {}",
                        later.value.subject(),
                        later.from,
                        earlier.line,
                        earlier.file.display()
                    ),
                    format!("write valid_until = {} in the earlier one", later.from),
                ));
            }
        }
    }
    findings
}

fn ended<T: DatedEntry>(rows: &DatedRows<T>, today: Date) -> Vec<CheckFinding> {
    let subjects = by_subject(rows).into_values();
    let last = subjects.filter_map(|rows| rows.last().copied());
    last.filter_map(|row| {
        let until = row.until.filter(|until| *until <= today)?;
        Some(finding(
            row,
            format!(
                "nothing is known about `{}` since {until}",
                row.value.subject()
            ),
            "add a row that begins there".to_owned(),
        ))
    })
    .collect()
}

/// A tier or route that holds today must lead to a model that exists today.
fn lost_models(data: &DatedData, today: Date) -> Vec<CheckFinding> {
    let of_day = data.at(today);
    let tiers = data.tiers.rows.iter().filter(|row| row.holds_on(today));
    let tiers = tiers.filter(|row| {
        of_day
            .model(&row.value.provider, &row.value.model)
            .is_none()
    });
    let tiers = tiers.map(|row| lost(row, &row.value.provider, &row.value.model));
    let routes = data.routes.rows.iter().filter(|row| row.holds_on(today));
    let routes = routes.filter(|row| {
        of_day
            .model(&row.value.provider, &row.value.model)
            .is_none()
    });
    let routes = routes.map(|row| lost(row, &row.value.provider, &row.value.model));
    tiers.chain(routes).collect()
}

fn lost<T: DatedEntry>(row: &DatedRow<T>, provider: &str, model: &str) -> CheckFinding {
    finding(
        row,
        format!(
            "`{}` leads to `{model}` of {provider}, which does not exist today",
            row.value.subject()
        ),
        "name another model in a new row, or add the model".to_owned(),
    )
}

/// Returns the rows about each thing, by their beginning.
fn by_subject<T: DatedEntry>(rows: &DatedRows<T>) -> BTreeMap<String, Vec<&DatedRow<T>>> {
    let mut all: BTreeMap<String, Vec<&DatedRow<T>>> = BTreeMap::new();
    for row in &rows.rows {
        all.entry(row.value.subject()).or_default().push(row);
    }
    for rows in all.values_mut() {
        rows.sort_by_key(|row| row.from);
    }
    all
}

fn finding<T>(row: &DatedRow<T>, message: String, advice: String) -> CheckFinding {
    CheckFinding {
        check: CheckId::DatedData,
        file: row.file.clone(),
        line: Some(row.line),
        message,
        advice: Some(advice),
    }
}
