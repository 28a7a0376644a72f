//! Metrics as text, in the two formats that Prometheus reads: OpenMetrics and the classic format.
//!
//! The formats differ in the family name of a counter, in the type of an info metric, in units and
//! in the end of the page. No library writes both: `prometheus-client` only writes OpenMetrics.

use std::fmt::{Display, Write as _};

use http::HeaderMap;
use http::header::{ACCEPT, HeaderValue};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricsFormat {
    OpenMetrics,
    Classic,
}

/// A page of metrics under construction, one family after the other.
#[derive(Debug)]
pub struct MetricsPage {
    format: MetricsFormat,
    text: String,
}

pub type Labels<'a> = Vec<(&'static str, &'a str)>;

/// Observations counted in buckets.
#[derive(Debug)]
pub struct Histogram<'a> {
    /// The upper ends of the buckets, without the last bucket, which is open.
    pub ends: &'a [f64],
    /// The count of each bucket, not cumulative; one more than `ends`.
    pub counts: &'a [u64],
    pub sum: f64,
}

impl MetricsFormat {
    /// Returns OpenMetrics for a client that names it and does not prefer text, and otherwise the
    /// classic format, which every reader of metrics accepts.
    pub fn from_accept(headers: &HeaderMap) -> Self {
        let accept: Vec<&str> = headers
            .get_all(ACCEPT)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .collect();
        let accept = accept.join(",");
        let open = media_range_weight(&accept, "application/openmetrics-text").unwrap_or(0.0);
        // The most specific range that covers the classic format decides.
        let classic = ["text/plain", "text/*", "*/*"]
            .iter()
            .find_map(|range| media_range_weight(&accept, range));
        if open > 0.0 && open >= classic.unwrap_or(0.0) {
            Self::OpenMetrics
        } else {
            Self::Classic
        }
    }

    pub fn content_type(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Classic => "text/plain; version=0.0.4; charset=utf-8",
        })
    }
}

/// Returns the highest weight, from 0 to 1, that the client gives to this media range.
fn media_range_weight(accept: &str, wanted: &str) -> Option<f32> {
    let weights = accept.split(',').filter_map(|range| {
        let mut parts = range.split(';').map(str::trim);
        if !parts.next()?.eq_ignore_ascii_case(wanted) {
            return None;
        }
        let weight = parts
            .find_map(|it| it.strip_prefix("q=").or_else(|| it.strip_prefix("Q=")))
            .map_or(Some(1.0), |it| it.trim().parse().ok());
        weight.filter(|it: &f32| (0.0..=1.0).contains(it))
    });
    weights.reduce(f32::max)
}

impl MetricsPage {
    pub fn new(format: MetricsFormat) -> Self {
        Self {
            format,
            text: String::new(),
        }
    }

    /// Writes a family of counters. `name` is without `_total`.
    pub fn write_counters<'a, V: Display>(
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
        self.write_head(family, "counter", help);
        rows.into_iter()
            .for_each(|(labels, value)| self.write_sample(&sample, &labels, value));
    }

    pub fn write_counter(&mut self, name: &str, help: &str, value: impl Display) {
        self.write_counters(name, help, [(Vec::new(), value)]);
    }

    pub fn write_gauges<'a, V: Display>(
        &mut self,
        name: &str,
        help: &str,
        rows: impl IntoIterator<Item = (Labels<'a>, V)>,
    ) {
        self.write_head(name, "gauge", help);
        rows.into_iter()
            .for_each(|(labels, value)| self.write_sample(name, &labels, value));
    }

    pub fn write_gauge(&mut self, name: &str, help: &str, value: impl Display) {
        self.write_gauges(name, help, [(Vec::new(), value)]);
    }

    /// Writes an info metric, whose values are its labels. `name` is without `_info`.
    pub fn write_info(&mut self, name: &str, help: &str, labels: &Labels<'_>) {
        let sample = format!("{name}_info");
        match self.format {
            MetricsFormat::OpenMetrics => self.write_head(name, "info", help),
            MetricsFormat::Classic => self.write_head(&sample, "gauge", help),
        }
        self.write_sample(&sample, labels, 1);
    }

    pub fn write_histograms<'a>(
        &mut self,
        name: &str,
        help: &str,
        rows: impl IntoIterator<Item = (Labels<'a>, Histogram<'a>)>,
    ) {
        self.write_head(name, "histogram", help);
        for (labels, Histogram { ends, counts, sum }) in rows {
            let mut cumulative = 0;
            // `Debug` writes 1.0 as `1.0`, as labels require; `Display` writes `1`.
            let ends = ends
                .iter()
                .map(|end| format!("{end:?}"))
                .chain(["+Inf".to_owned()]);
            for (end, count) in ends.zip(counts) {
                cumulative += count;
                let with_end: Vec<_> = labels
                    .iter()
                    .copied()
                    .chain([("le", end.as_str())])
                    .collect();
                self.write_sample(&format!("{name}_bucket"), &with_end, cumulative);
            }
            self.write_sample(&format!("{name}_sum"), &labels, sum);
            self.write_sample(&format!("{name}_count"), &labels, cumulative);
        }
    }

    pub fn finish(mut self) -> String {
        if self.format == MetricsFormat::OpenMetrics {
            self.text.push_str("# EOF\n");
        }
        self.text
    }

    fn write_head(&mut self, family: &str, kind: &str, help: &str) {
        self.write_line(format_args!("# TYPE {family} {kind}"));
        let unit = UNITS.iter().find(|unit| {
            family
                .strip_suffix(*unit)
                .is_some_and(|it| it.ends_with('_'))
        });
        if let Some(unit) = unit.filter(|_| self.format == MetricsFormat::OpenMetrics) {
            self.write_line(format_args!("# UNIT {family} {unit}"));
        }
        self.write_line(format_args!("# HELP {family} {}", escape(help)));
    }

    fn write_sample(&mut self, name: &str, labels: &[(&'static str, &str)], value: impl Display) {
        let labels: Vec<_> = labels
            .iter()
            .map(|(key, value)| format!("{key}=\"{}\"", escape(value)))
            .collect();
        match labels.as_slice() {
            [] => self.write_line(format_args!("{name} {value}")),
            labels => self.write_line(format_args!("{name}{{{}}} {value}", labels.join(","))),
        }
    }

    fn write_line(&mut self, line: std::fmt::Arguments<'_>) {
        writeln!(self.text, "{line}").expect("writing into a string cannot fail");
    }
}

/// Units that family names end in.
const UNITS: [&str; 2] = ["seconds", "bytes"];

fn escape(text: &str) -> String {
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
        assert_eq!(MetricsFormat::from_accept(&headers), expected, "{accept:?}");
    }

    #[test]
    fn a_client_gets_open_metrics_only_if_it_asks_for_it_by_name() {
        check(&[], MetricsFormat::Classic);
        check(&[""], MetricsFormat::Classic);
        check(&["*/*"], MetricsFormat::Classic);
        check(&["application/*"], MetricsFormat::Classic);
        check(&["text/html,*/*;q=0.8"], MetricsFormat::Classic);
        check(&["text/plain"], MetricsFormat::Classic);
        check(
            &["text/plain;version=0.0.4;q=0.5,*/*;q=0.1"],
            MetricsFormat::Classic,
        );
        check(
            &["application/openmetrics-text"],
            MetricsFormat::OpenMetrics,
        );
        check(
            &["application/openmetrics-text, */*"],
            MetricsFormat::OpenMetrics,
        );
        check(
            &["application/openmetrics-text;version=1.0.0,text/plain"],
            MetricsFormat::OpenMetrics,
        );
        let prometheus = "application/openmetrics-text;version=1.0.0;q=0.8,text/plain;version=0.0.4;q=0.6,*/*;q=0.1";
        check(&[prometheus], MetricsFormat::OpenMetrics);
    }

    #[test]
    fn weights_decide_between_the_formats_that_a_client_names() {
        check(
            &["application/openmetrics-text;q=0.2", "text/plain;q=0.9"],
            MetricsFormat::Classic,
        );
        check(
            &["application/openmetrics-text; Q=0.5, */*; q=0.7"],
            MetricsFormat::Classic,
        );
        check(
            &["application/openmetrics-text;q=0.5, text/plain;q=0.1, */*;q=0.7"],
            MetricsFormat::OpenMetrics,
        );
        check(
            &["application/openmetrics-text;q=0, */*;q=0"],
            MetricsFormat::Classic,
        );
        check(
            &["application/openmetrics-text;q=nonsense"],
            MetricsFormat::Classic,
        );
    }

    fn page(format: MetricsFormat) -> String {
        let mut page = MetricsPage::new(format);
        page.write_counters(
            "calls",
            "How \"many\"\nso far",
            [(vec![("tool", "a\\b\"c\nd")], 3)],
        );
        page.write_gauge("memory_bytes", "Taken", 1.5);
        page.write_info("build", "Which", &vec![("version", "1.2.3")]);
        let histogram = Histogram {
            ends: &[0.005, 1.0],
            counts: &[1, 0, 2],
            sum: 130.25,
        };
        page.write_histograms("wait_seconds", "How long", [(Vec::new(), histogram)]);
        page.finish()
    }

    #[test]
    fn open_metrics_pages_follow_the_specification() {
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
    fn classic_counters_are_named_with_their_suffix() {
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
