//! Finds rows that are valid on the same day, rows with a missing target, and subjects without a
//! valid row.

use std::collections::BTreeMap;

use jiff::civil::Date;

use super::rows::DatedEntry;
use super::{DatedData, DatedRow, DatedRows};
use crate::checks::{CheckFinding, CheckId};

pub(crate) fn check(data: &DatedData, today: Date) -> Vec<CheckFinding> {
    let mut findings = find_overlaps(&data.models);
    findings.extend(find_overlaps(&data.aliases));
    findings.extend(find_overlaps(&data.tiers));
    findings.extend(find_overlaps(&data.routes));
    findings.extend(find_overlaps(&data.providers));
    findings.extend(find_overlaps(&data.profiles));
    findings.extend(find_ended_rows(&data.tiers, today));
    findings.extend(find_ended_rows(&data.routes, today));
    findings.extend(find_ended_rows(&data.providers, today));
    findings.extend(find_ended_rows(&data.profiles, today));
    findings.extend(find_missing_models(data, today));
    findings
}

/// Two rows about the same subject that are valid on the same day contradict each other.
fn find_overlaps<T: DatedEntry>(rows: &DatedRows<T>) -> Vec<CheckFinding> {
    let mut findings = Vec::new();
    for rows in by_subject(rows).into_values() {
        for pair in rows.windows(2) {
            let [earlier, later] = pair else { continue };
            if earlier.until.is_none_or(|until| later.from < until) {
                findings.push(row_finding(
                    later,
                    format!(
                        "`{}` has two rows that are valid on {}; the other is on line {} of {}",
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

fn find_ended_rows<T: DatedEntry>(rows: &DatedRows<T>, today: Date) -> Vec<CheckFinding> {
    let subjects = by_subject(rows).into_values();
    let last = subjects.filter_map(|rows| rows.last().copied());
    last.filter_map(|row| {
        let until = row.until.filter(|until| *until <= today)?;
        Some(row_finding(
            row,
            format!("`{}` has no valid row since {until}", row.value.subject()),
            "add a row that begins on that day".to_owned(),
        ))
    })
    .collect()
}

/// A tier or route that is valid today must lead to a model that exists today.
fn find_missing_models(data: &DatedData, today: Date) -> Vec<CheckFinding> {
    let of_day = data.at(today);
    let tiers = data.tiers.rows.iter().filter(|row| row.holds_on(today));
    let tiers = tiers.filter(|row| {
        of_day
            .model(&row.value.provider, &row.value.model)
            .is_none()
    });
    let tiers = tiers.map(|row| missing_model_finding(row, &row.value.provider, &row.value.model));
    let routes = data.routes.rows.iter().filter(|row| row.holds_on(today));
    let routes = routes.filter(|row| {
        of_day
            .model(&row.value.provider, &row.value.model)
            .is_none()
    });
    let routes =
        routes.map(|row| missing_model_finding(row, &row.value.provider, &row.value.model));
    tiers.chain(routes).collect()
}

fn missing_model_finding<T: DatedEntry>(
    row: &DatedRow<T>,
    provider: &str,
    model: &str,
) -> CheckFinding {
    row_finding(
        row,
        format!(
            "`{}` leads to `{model}` of {provider}, which does not exist today",
            row.value.subject()
        ),
        "name another model in a new row, or add the model".to_owned(),
    )
}

/// Returns the rows about each subject, by their first day.
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

fn row_finding<T>(row: &DatedRow<T>, message: String, advice: String) -> CheckFinding {
    CheckFinding {
        check: CheckId::DatedData,
        file: row.file.clone(),
        line: Some(row.line),
        message,
        advice: Some(advice),
    }
}
