//! Metrics as text, in the two formats that Prometheus reads: OpenMetrics, and the classic one.
//!
//! They differ in what a counter is called where its type is told, in how facts about a build are
//! typed, and in how a page ends. Written here rather than by a library, because none writes both.

use std::fmt::{Display, Write as _};

use http::HeaderMap;
use http::header::{ACCEPT, HeaderValue};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricsFormat {
    OpenMetrics,
    Classic,
}

/// A page that families of metrics are written on, one after the other.
#[derive(Debug)]
pub struct MetricsPage {
    format: MetricsFormat,
    text: String,
}

pub type Labels<'a> = Vec<(&'static str, &'a str)>;

/// Observations counted by size: how many there were up to each end, and in the open bucket after
/// the last.
#[derive(Debug)]
pub struct Histogram<'a> {
    pub ends: &'a [f64],
    /// The counts are not added up yet; there is one more than there are ends.
    pub counts: &'a [u64],
    pub sum: f64,
}

impl MetricsFormat {
    /// Returns the format that the client prefers. A client that names neither format gets
    /// OpenMetrics.
    pub fn accepted(headers: &HeaderMap) -> Self {
        let accept: Vec<&str> = headers
            .get_all(ACCEPT)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .collect();
        let accept = accept.join(",");
        let (open, classic) = (
            preference(&accept, "application/openmetrics-text"),
            preference(&accept, "text/plain"),
        );
        if classic > open {
            Self::Classic
        } else {
            Self::OpenMetrics
        }
    }

    pub fn content_type(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Classic => "text/plain; version=0.0.4; charset=utf-8",
        })
    }
}

/// Returns the weight that the client gives to a media type, from 0 to 1. A media type that the
/// client does not name has the weight 0.
fn preference(accept: &str, wanted: &str) -> f32 {
    let weights = accept.split(',').filter_map(|range| {
        let mut parts = range.split(';').map(str::trim);
        if !parts.next()?.eq_ignore_ascii_case(wanted) {
            return None;
        }
        let weight = parts
            .find_map(|it| it.strip_prefix("q="))
            .map_or(Some(1.0), |it| it.parse().ok());
        weight.filter(|it: &f32| (0.0..=1.0).contains(it))
    });
    weights.fold(0.0, f32::max)
}

impl MetricsPage {
    pub fn new(format: MetricsFormat) -> Self {
        Self {
            format,
            text: String::new(),
        }
    }

    /// Figures that only grow. `name` is without `_total`.
    pub fn counters<'a, V: Display>(
        &mut self,
        name: &str,
        help: &str,
        rows: impl IntoIterator<Item = (Labels<'a>, V)>,
    ) {
        let sample = format!("{name}_total");
        let family = if self.format == MetricsFormat::Classic {
            &sample
        } else {
            name
        };
        self.head(family, "counter", help);
        rows.into_iter()
            .for_each(|(labels, value)| self.sample(&sample, &labels, value));
    }

    pub fn gauges<'a, V: Display>(
        &mut self,
        name: &str,
        help: &str,
        rows: impl IntoIterator<Item = (Labels<'a>, V)>,
    ) {
        self.head(name, "gauge", help);
        rows.into_iter()
            .for_each(|(labels, value)| self.sample(name, &labels, value));
    }

    pub fn gauge(&mut self, name: &str, help: &str, value: impl Display) {
        self.gauges(name, help, [(Vec::new(), value)]);
    }

    /// Facts that stand in labels. `name` is without `_info`.
    pub fn info(&mut self, name: &str, help: &str, labels: &Labels<'_>) {
        let sample = format!("{name}_info");
        match self.format {
            MetricsFormat::OpenMetrics => self.head(name, "info", help),
            MetricsFormat::Classic => self.head(&sample, "gauge", help),
        }
        self.sample(&sample, labels, 1);
    }

    pub fn histograms<'a>(
        &mut self,
        name: &str,
        help: &str,
        rows: impl IntoIterator<Item = (Labels<'a>, Histogram<'a>)>,
    ) {
        self.head(name, "histogram", help);
        for (labels, Histogram { ends, counts, sum }) in rows {
            let mut so_far = 0;
            // A number in a label must be spelt as `1.0`, which is how `Debug` spells it.
            let ends = ends
                .iter()
                .map(|end| format!("{end:?}"))
                .chain(["+Inf".to_owned()]);
            for (end, count) in ends.zip(counts) {
                so_far += count;
                let with_end: Vec<_> = labels
                    .iter()
                    .copied()
                    .chain([("le", end.as_str())])
                    .collect();
                self.sample(&format!("{name}_bucket"), &with_end, so_far);
            }
            self.sample(&format!("{name}_sum"), &labels, sum);
            self.sample(&format!("{name}_count"), &labels, so_far);
        }
    }

    pub fn finish(mut self) -> String {
        if self.format == MetricsFormat::OpenMetrics {
            self.text.push_str("# EOF\n");
        }
        self.text
    }

    fn head(&mut self, family: &str, kind: &str, help: &str) {
        self.line(format_args!("# TYPE {family} {kind}"));
        let unit = UNITS.iter().find(|unit| {
            family
                .strip_suffix(*unit)
                .is_some_and(|it| it.ends_with('_'))
        });
        if let Some(unit) = unit.filter(|_| self.format == MetricsFormat::OpenMetrics) {
            self.line(format_args!("# UNIT {family} {unit}"));
        }
        self.line(format_args!("# HELP {family} {}", escaped(help)));
    }

    fn sample(&mut self, name: &str, labels: &[(&'static str, &str)], value: impl Display) {
        let labels: Vec<_> = labels
            .iter()
            .map(|(key, value)| format!("{key}=\"{}\"", escaped(value)))
            .collect();
        match labels.as_slice() {
            [] => self.line(format_args!("{name} {value}")),
            labels => self.line(format_args!("{name}{{{}}} {value}", labels.join(","))),
        }
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        writeln!(self.text, "{line}").expect("writing into a string cannot fail");
    }
}

/// Units that names of families end in.
const UNITS: [&str; 2] = ["seconds", "bytes"];

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(accept: &[&str], expected: MetricsFormat) {
        let mut headers = HeaderMap::new();
        for value in accept {
            headers.append(ACCEPT, value.parse().unwrap());
        }
        assert_eq!(MetricsFormat::accepted(&headers), expected, "{accept:?}");
    }

    #[test]
    fn the_format_is_what_the_client_prefers() {
        check(&[], MetricsFormat::OpenMetrics);
        check(&["*/*"], MetricsFormat::OpenMetrics);
        check(&["text/html"], MetricsFormat::OpenMetrics);
        check(&["text/plain"], MetricsFormat::Classic);
        check(
            &["text/plain;version=0.0.4;q=0.5,*/*;q=0.1"],
            MetricsFormat::Classic,
        );
        check(
            &["application/openmetrics-text;version=1.0.0,text/plain"],
            MetricsFormat::OpenMetrics,
        );
        let prometheus = "application/openmetrics-text;version=1.0.0;q=0.8,text/plain;version=0.0.4;q=0.6,*/*;q=0.1";
        check(&[prometheus], MetricsFormat::OpenMetrics);
        check(
            &["application/openmetrics-text;q=0.2", "text/plain;q=0.9"],
            MetricsFormat::Classic,
        );
        check(&["Text/Plain; Q=nonsense; q=2"], MetricsFormat::OpenMetrics);
    }

    fn page(format: MetricsFormat) -> String {
        let mut page = MetricsPage::new(format);
        page.counters(
            "calls",
            "How \"many\"\nso far",
            [(vec![("tool", "a\\b\"c\nd")], 3)],
        );
        page.gauge("memory_bytes", "Taken", 1.5);
        page.info("build", "Which", &vec![("version", "1.2.3")]);
        let histogram = Histogram {
            ends: &[0.005, 1.0],
            counts: &[1, 0, 2],
            sum: 130.25,
        };
        page.histograms("wait_seconds", "How long", [(Vec::new(), histogram)]);
        page.finish()
    }

    #[test]
    fn open_metrics_is_written_to_the_letter() {
        let expected = r#"# TYPE calls counter
# HELP calls How \"many\"\nso far
calls_total{tool="a\\b\"c\nd"} 3
# TYPE memory_bytes gauge
# UNIT memory_bytes bytes
# HELP memory_bytes Taken
memory_bytes 1.5
# TYPE build info
# HELP build Which
build_info{version="1.2.3"} 1
# TYPE wait_seconds histogram
# UNIT wait_seconds seconds
# HELP wait_seconds How long
wait_seconds_bucket{le="0.005"} 1
wait_seconds_bucket{le="1.0"} 1
wait_seconds_bucket{le="+Inf"} 3
wait_seconds_sum 130.25
wait_seconds_count 3
# EOF
"#;
        assert_eq!(page(MetricsFormat::OpenMetrics), expected);
    }

    #[test]
    fn the_classic_format_knows_a_counter_by_its_whole_name() {
        let text = page(MetricsFormat::Classic);
        assert!(
            text.contains("# TYPE calls_total counter\n# HELP calls_total "),
            "{text}"
        );
        assert!(
            text.contains("# TYPE build_info gauge\n") && text.contains("le=\"+Inf\"} 3\n"),
            "{text}"
        );
        assert!(
            !text.contains("# EOF") && !text.contains("# UNIT"),
            "{text}"
        );
    }
}
