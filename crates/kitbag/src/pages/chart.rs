//! Charts as SVG, rendered here: no script, readable for screen readers as a table of the same
//! figures.

use maud::{Markup, html};

const WIDTH: f64 = 600.0;
const HEIGHT: f64 = 120.0;
/// The gap between two bars.
const GAP: f64 = 1.0;

/// One bar: its label, and the heights of its parts from the bottom.
pub(super) struct Bar {
    pub(super) label: String,
    pub(super) parts: Vec<f64>,
}

/// How the parts of a bar are drawn: on top of each other, or all from the bottom, such as a median
/// in front of a higher percentile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Arrangement {
    Stacked,
    Nested,
}

/// Renders stacked bars. `series` names the parts, in the order of the parts of each bar.
pub(super) fn bars(title: &str, series: &[&str], bars: &[Bar]) -> Markup {
    draw_bars(title, series, bars, Arrangement::Stacked)
}

/// Renders bars whose parts are levels that begin at the bottom, lowest first.
pub(super) fn nested_bars(title: &str, series: &[&str], bars: &[Bar]) -> Markup {
    draw_bars(title, series, bars, Arrangement::Nested)
}

fn draw_bars(title: &str, series: &[&str], bars: &[Bar], arrangement: Arrangement) -> Markup {
    let heights = bars.iter().map(|bar| bar.height(arrangement));
    let highest = heights.fold(0.0, f64::max);
    let width = WIDTH / bars.len().max(1) as f64;
    html! {
        figure.chart {
            figcaption {
                (title)
                span.legend { @for (number, name) in series.iter().enumerate() {
                    span class={ "series s" (number) } { (name) }
                } }
            }
            svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-label=(title) preserveAspectRatio="none" {
                @for (position, bar) in bars.iter().enumerate() {
                    g { title { (bar.describe(series)) }
                        // Something to point at, also where the bar is low.
                        rect.hover x=(position as f64 * width) y="0" width=(width) height=(HEIGHT) {}
                        @for (number, y, height) in bar.place_parts(highest, arrangement) {
                            rect class={ "s" (number) } x=(position as f64 * width) y=(round(y))
                                width=(round((width - GAP).max(1.0))) height=(round(height)) {}
                        }
                    }
                }
            }
            div.axis aria-hidden="true" {
                span { (bars.first().map_or("", |bar| &bar.label)) }
                span { (bars.last().map_or("", |bar| &bar.label)) }
            }
        }
        details.figures { summary { "As a table" }
            table {
                caption.unseen { (title) }
                thead { tr { th scope="col" { "Time" } @for name in series { th.number scope="col" { (name) } } } }
                tbody { @for bar in bars { tr {
                    th scope="row" { (bar.label) }
                    @for part in &bar.parts { td.number { (round(*part)) } }
                } } }
            }
        }
    }
}

impl Bar {
    fn height(&self, arrangement: Arrangement) -> f64 {
        match arrangement {
            Arrangement::Stacked => self.parts.iter().sum(),
            Arrangement::Nested => self.parts.iter().copied().fold(0.0, f64::max),
        }
    }

    fn describe(&self, series: &[&str]) -> String {
        let parts = series.iter().zip(&self.parts);
        let parts: Vec<_> = parts
            .map(|(name, value)| format!("{name} {}", round(*value)))
            .collect();
        format!("{}: {}", self.label, parts.join(", "))
    }

    /// Returns the number, the upper edge and the height of each visible part, in drawing order.
    fn place_parts(&self, highest: f64, arrangement: Arrangement) -> Vec<(usize, f64, f64)> {
        let scale = if highest > 0.0 { HEIGHT / highest } else { 0.0 };
        let mut top = HEIGHT;
        let mut parts: Vec<_> = self.parts.iter().enumerate().collect();
        if arrangement == Arrangement::Nested {
            // A lower level is drawn in front of a higher one.
            parts.reverse();
        }
        parts
            .into_iter()
            .filter(|(_, value)| **value > 0.0)
            .map(|(number, value)| {
                // A single failure among many calls must be visible.
                let height = (value * scale).max(1.0);
                if arrangement == Arrangement::Nested {
                    top = HEIGHT;
                }
                top -= height;
                (number, top.max(0.0), height)
            })
            .collect()
    }
}

fn round(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_stacked_from_the_bottom_and_small_ones_stay_visible() {
        let bar = Bar {
            label: "12:00".to_owned(),
            parts: vec![999.0, 0.0, 1.0],
        };
        let stack = bar.place_parts(1000.0, Arrangement::Stacked);
        assert_eq!(stack.len(), 2);
        assert!(stack[0].1 > stack[1].1);
        assert!(stack[1].2 >= 1.0);
    }

    #[test]
    fn nested_parts_begin_at_the_bottom_with_the_lowest_in_front() {
        let bar = Bar {
            label: "12:00".to_owned(),
            parts: vec![50.0, 100.0],
        };
        let placed = bar.place_parts(100.0, Arrangement::Nested);
        assert_eq!(placed, [(1, 0.0, HEIGHT), (0, HEIGHT / 2.0, HEIGHT / 2.0)]);
    }

    #[test]
    fn an_empty_chart_has_no_bars() {
        let none = [Bar {
            label: "12:00".to_owned(),
            parts: vec![0.0],
        }];
        assert!(
            !bars("Calls", &["ok"], &none)
                .into_string()
                .contains("class=\"s0\"")
        );
    }
}
