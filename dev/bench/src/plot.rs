//! Draws how search scales with the number of tools: three small panels, both axes logarithmic.
//!
//! The picture is diffable text, and its colours follow the page's theme, light or dark.

use super::canvas::{
    BOTTOM, HEIGHT, LEFT, PANEL_WIDTH, RIGHT, TOP, axis_label, begin_panel, grid_line, legend,
    path, picture,
};
use super::speed::Point;

/// Draws the points, in the order of their sizes, as SVG.
pub(crate) fn svg(points: &[Point]) -> String {
    let panels: String = PANELS
        .iter()
        .enumerate()
        .map(|(at, panel)| panel.draw(points, at))
        .collect();
    let label = "Latency, memory and build time of search by the number of tools";
    picture(label, PANELS.len(), &panels)
}

struct Panel {
    title: &'static str,
    /// The units of the axis, from small to large: each is a thousand times the previous one.
    units: [&'static str; 4],
    lines: &'static [Line],
}

struct Line {
    label: &'static str,
    class: &'static str,
    /// In the smallest unit of the panel.
    value: fn(&Point) -> f64,
}

const PANELS: [Panel; 3] = [
    Panel {
        title: "One search",
        units: ["µs", "ms", "s", "ks"],
        lines: &[
            Line {
                label: "p50 with embedding",
                class: "a",
                value: |it| it.embedded_p50_us,
            },
            Line {
                label: "p99 with embedding",
                class: "a thin",
                value: |it| it.embedded_p99_us,
            },
            Line {
                label: "p50, vector known",
                class: "b",
                value: |it| it.query_p50_us,
            },
            Line {
                label: "p99, vector known",
                class: "b thin",
                value: |it| it.query_p99_us,
            },
        ],
    },
    Panel {
        title: "Resident memory",
        units: ["kB", "MB", "GB", "TB"],
        lines: &[Line {
            label: "whole process",
            class: "a",
            value: |it| it.resident_bytes / 1e3,
        }],
    },
    Panel {
        title: "Building the index, vectors known",
        units: ["ms", "s", "ks", "Ms"],
        lines: &[Line {
            label: "one core",
            class: "a",
            value: |it| it.build_ms,
        }],
    },
];

impl Panel {
    fn draw(&self, points: &[Point], at: usize) -> String {
        let tools = Scale::spanning(
            points.iter().map(|it| it.tools as f64),
            LEFT,
            PANEL_WIDTH - RIGHT,
        );
        let values = points
            .iter()
            .flat_map(|point| self.lines.iter().map(|line| (line.value)(point)));
        let values = Scale::spanning(values, HEIGHT - BOTTOM, TOP);
        let mut text = begin_panel(at, self.title);
        for (value, y) in values.ticks() {
            text += &grid_line(y, &self.amount(value));
        }
        for (value, x) in tools.ticks() {
            text += &axis_label(x, &short(value, ["", "k", "M", "G"]));
        }
        for (number, line) in self.lines.iter().enumerate() {
            text += &line.draw(points, &tools, &values);
            text += &legend(number, line.class, line.label);
        }
        text + "</g>\n"
    }

    fn amount(&self, value: f64) -> String {
        let [unit, larger @ ..] = self.units;
        let units = [unit, larger[0], larger[1], larger[2]].map(|unit| format!(" {unit}"));
        short(value, units.each_ref().map(String::as_str))
    }
}

impl Line {
    fn draw(&self, points: &[Point], tools: &Scale, values: &Scale) -> String {
        let point = |it: &Point| {
            format!(
                "{:.1} {:.1}",
                tools.position_of(it.tools as f64),
                values.position_of((self.value)(it))
            )
        };
        let points: Vec<String> = points.iter().map(point).collect();
        path(self.class, &points)
    }
}

/// Maps powers of ten to positions in the picture.
struct Scale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Scale {
    fn spanning(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let (low, high) = values
            .map(|it| it.max(f64::MIN_POSITIVE).log10())
            .fold((f64::MAX, f64::MIN), |(low, high), it| {
                (low.min(it), high.max(it))
            });
        // The logarithm of a power of ten may deviate slightly from a whole number.
        let (low, high) = ((low + EPSILON).floor(), (high - EPSILON).ceil());
        Self {
            low,
            high: high.max(low + 1.0),
            from,
            to,
        }
    }

    fn position_of(&self, value: f64) -> f64 {
        let share = (value.max(f64::MIN_POSITIVE).log10() - self.low) / (self.high - self.low);
        self.from + share * (self.to - self.from)
    }

    /// Every power of ten, and its position.
    fn ticks(&self) -> impl Iterator<Item = (f64, f64)> {
        let powers = self.low as i32..=self.high as i32;
        powers
            .map(|power| 10f64.powi(power))
            .map(|value| (value, self.position_of(value)))
    }
}

const EPSILON: f64 = 1e-6;

fn short(value: f64, units: [&str; 4]) -> String {
    let step = ((value.log10() + EPSILON) / 3.0).floor().clamp(0.0, 3.0);
    format!("{}{}", value / 1000f64.powf(step), units[step as usize])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(tools: u64) -> Point {
        let size = tools as f64;
        Point {
            tools,
            build_ms: size / 100.0,
            added_ms: 1.0,
            query_p50_us: size / 10.0,
            query_p99_us: size / 5.0,
            embedded_p50_us: size / 10.0 + 2000.0,
            embedded_p99_us: size / 5.0 + 3000.0,
            resident_bytes: 3e7 + size * 1000.0,
        }
    }

    #[test]
    fn every_line_of_every_panel_is_drawn_through_all_points() {
        let picture = svg(&[1_000, 10_000, 100_000, 1_000_000].map(point));
        assert_eq!(picture.matches("<g ").count(), 3);
        let drawn = picture
            .lines()
            .filter(|line| line.matches('L').count() == 3)
            .count();
        assert_eq!(drawn, 6, "{picture}");
        for label in [
            "1k", "10k", "100k", "1M", "100 µs", "1 ms", "100 MB", "10 s",
        ] {
            assert!(
                picture.contains(&format!(">{label}</text>")),
                "no {label} in {picture}"
            );
        }
        assert!(
            !picture.contains("NaN") && !picture.contains("inf"),
            "{picture}"
        );
    }

    #[test]
    fn a_factor_of_ten_is_always_the_same_distance() {
        let scale = Scale::spanning([1_000.0, 1e6].into_iter(), 0.0, 300.0);
        let points: Vec<i64> = scale
            .ticks()
            .map(|(_, point)| point.round() as i64)
            .collect();
        assert_eq!(points, [0, 100, 200, 300]);
    }

    #[test]
    fn a_single_point_makes_a_picture_too() {
        assert!(!svg(&[point(1_000)]).contains("NaN"));
    }
}
