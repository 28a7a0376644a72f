//! The parts of a picture with small panels side by side: frames, grids, lines and legends.

pub(crate) const PANEL_WIDTH: f64 = 320.0;
pub(crate) const HEIGHT: f64 = 270.0;
pub(crate) const LEFT: f64 = 58.0;
pub(crate) const RIGHT: f64 = 16.0;
pub(crate) const TOP: f64 = 34.0;
pub(crate) const BOTTOM: f64 = 96.0;
const STYLE: &str = "<style>
text { font: 12px system-ui, sans-serif; fill: #444 }
.title { font-weight: 600 }
.grid { stroke: #8885; stroke-width: 1 }
path { fill: none; stroke-width: 2.2; stroke-linejoin: round }
.thin { stroke-width: 1.2; stroke-dasharray: 4 3 }
.a { stroke: #0b6bcb } .b { stroke: #c2570c }
@media (prefers-color-scheme: dark) {
  text { fill: #ccc }
  .a { stroke: #6db3f8 } .b { stroke: #f0a35e }
}
</style>
";

/// The whole picture; `label` describes it in words.
pub(crate) fn picture(label: &str, count: usize, panels: &str) -> String {
    let width = count as f64 * PANEL_WIDTH;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {HEIGHT}\" role=\"img\" \
         aria-label=\"{label}\">\n{STYLE}{panels}</svg>\n"
    )
}

/// Begins the panel at this position; `</g>` ends it.
pub(crate) fn begin_panel(at: usize, title: &str) -> String {
    let left = at as f64 * PANEL_WIDTH;
    format!(
        "<g transform=\"translate({left} 0)\">\n<text class=\"title\" x=\"{LEFT}\" y=\"18\">{title}</text>\n"
    )
}

pub(crate) fn grid_line(y: f64, label: &str) -> String {
    let (right, beside) = (PANEL_WIDTH - RIGHT, LEFT - 6.0);
    format!(
        "<path class=\"grid\" d=\"M{LEFT} {y:.1}H{right}\"/>\n\
         <text x=\"{beside}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>\n",
        y + 4.0
    )
}

/// A label of the horizontal axis.
pub(crate) fn axis_label(x: f64, label: &str) -> String {
    let y = HEIGHT - BOTTOM + 18.0;
    format!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">{label}</text>\n")
}

/// A line through these points, each written `x y`.
pub(crate) fn path(class: &str, points: &[String]) -> String {
    format!("<path class=\"{class}\" d=\"M{}\"/>\n", points.join("L"))
}

pub(crate) fn legend(number: usize, class: &str, label: &str) -> String {
    let (column, row) = ((number % 2) as f64, (number / 2) as f64);
    let (x, y) = (12.0 + column * 156.0, HEIGHT - BOTTOM + 48.0 + row * 18.0);
    format!(
        "<path class=\"{class}\" d=\"M{x} {}h18\"/>\n<text x=\"{}\" y=\"{y}\">{label}</text>\n",
        y - 4.0,
        x + 22.0,
    )
}
