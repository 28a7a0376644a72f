//! Prints rows of text as aligned columns.

/// The first column is left-aligned, the others are numbers.
pub(crate) fn print(rows: &[Vec<String>]) {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |at: usize| {
        rows.iter()
            .filter_map(|row| row.get(at))
            .map(|it| it.chars().count())
            .max()
    };
    let widths: Vec<usize> = (0..columns).map(|at| width(at).unwrap_or(0)).collect();
    for row in rows {
        let cells = row
            .iter()
            .zip(&widths)
            .enumerate()
            .map(|(at, (cell, width))| match at {
                0 => format!("{cell:<width$}"),
                _ => format!("{cell:>width$}"),
            });
        println!("{}", cells.collect::<Vec<_>>().join("  ").trim_end());
    }
}

/// Formats a share between 0 and 1 as in the literature: `.873`.
pub(crate) fn share(value: f64) -> String {
    let text = format!("{value:.3}");
    text.strip_prefix('0').map_or(text.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::share;

    #[test]
    fn a_share_has_no_zero_before_the_point() {
        assert_eq!(share(0.8734), ".873");
        assert_eq!(share(1.0), "1.000");
        assert_eq!(share(0.0), ".000");
    }
}
