//! The trace of a request, which is passed on to servers and APIs: W3C Trace Context and Baggage,
//! in HTTP headers and under the same names in `_meta`.

use http::{HeaderMap, HeaderName, HeaderValue};
use kitbag_domain::TraceParent;
use kitbag_wire::RawObject;

const PARENT: &str = "traceparent";
const STATE: &str = "tracestate";
const BAGGAGE: &str = "baggage";

/// The lengths that the standards require everyone to pass on; longer values may be dropped.
const LONGEST_STATE: usize = 512;
const LONGEST_BAGGAGE: usize = 8_192;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct TraceContext {
    pub(crate) parent: Option<TraceParent>,
    state: Option<String>,
    baggage: Option<String>,
}

impl TraceContext {
    pub(crate) fn from_headers(headers: &HeaderMap) -> Self {
        // A list may be split over several headers of the same name.
        Self::from_lookup(|name| {
            let values = headers
                .get_all(name)
                .iter()
                .map(|value| value.to_str().ok());
            let values: Vec<&str> = values.collect::<Option<_>>()?;
            (!values.is_empty()).then(|| values.join(","))
        })
    }

    pub(crate) fn from_params(params: &RawObject) -> Self {
        let meta = params.get_object("_meta").unwrap_or_default();
        Self::from_lookup(|name| meta.read(name))
    }

    /// Ignores invalid values, and a state without a parent.
    fn from_lookup(value: impl Fn(&str) -> Option<String>) -> Self {
        let parent = value(PARENT).and_then(|text| text.parse().ok());
        let state = value(STATE).filter(|text| parent.is_some() && is_list(text, LONGEST_STATE));
        Self {
            parent,
            state,
            baggage: value(BAGGAGE).filter(|text| is_list(text, LONGEST_BAGGAGE)),
        }
    }

    /// Fills missing values from another context.
    pub(crate) fn or(self, other: Self) -> Self {
        let (parent, state) = match self.parent {
            Some(_) => (self.parent, self.state),
            None => (other.parent, other.state),
        };
        Self {
            parent,
            state,
            baggage: self.baggage.or(other.baggage),
        }
    }

    /// Returns the same context with the gateway's span as the parent, if there is one.
    pub(crate) fn under_span(&self, span: Option<TraceParent>) -> Self {
        Self {
            parent: span.or(self.parent),
            ..self.clone()
        }
    }

    /// Replaces the context in `_meta` with this one. Equal members stay unchanged.
    pub(crate) fn put_into(&self, params: &mut RawObject) {
        let mut meta = params.get_object("_meta").unwrap_or_default();
        let mut is_changed = false;
        for (name, value) in self.entries() {
            let given = meta.read::<String>(name);
            match value {
                Some(value) if given.as_ref() != Some(&value) => meta.put(name, &value),
                None if meta.contains(name) => drop(meta.remove(name)),
                _ => continue,
            }
            is_changed = true;
        }
        match (is_changed, meta.is_empty()) {
            (false, _) => {}
            (true, true) => drop(params.remove("_meta")),
            (true, false) => params.put("_meta", &meta),
        }
    }

    /// Returns the headers for an HTTP API: without baggage, which may identify the user.
    pub(crate) fn api_headers(&self) -> HeaderMap {
        let values = self.entries().into_iter();
        let values = values.filter(|(name, _)| *name != BAGGAGE);
        let headers = values.filter_map(|(name, value)| {
            let value = HeaderValue::try_from(value?).ok()?;
            Some((HeaderName::from_static(name), value))
        });
        headers.collect()
    }

    fn entries(&self) -> [(&'static str, Option<String>); 3] {
        [
            (PARENT, self.parent.map(|parent| parent.to_string())),
            (STATE, self.state.clone()),
            (BAGGAGE, self.baggage.clone()),
        ]
    }
}

/// True for `key=value` pairs in visible ASCII, separated by commas.
fn is_list(text: &str, longest: usize) -> bool {
    let is_visible = text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    let mut pairs = text
        .split(',')
        .map(str::trim)
        .filter(|pair| !pair.is_empty());
    let is_pair = |pair: &str| {
        pair.split_once('=')
            .is_some_and(|(key, _)| !key.trim().is_empty())
    };
    text.len() <= longest && is_visible && text.contains('=') && pairs.all(is_pair)
}

#[cfg(test)]
mod tests {
    use kitbag_wire::raw;
    use serde_json::{Value, json};

    use super::*;

    const TRACE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    const OTHER: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";

    fn params(meta: &Value) -> RawObject {
        RawObject::open(&raw(&json!({ "name": "t", "_meta": meta }))).unwrap()
    }

    /// Checks which `_meta` reaches a server for headers and `_meta` of a client.
    #[track_caller]
    fn check(headers: &[(&'static str, &str)], meta: &Value, expected: &Value) {
        let headers = headers
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap()));
        let mut params = params(meta);
        let context =
            TraceContext::from_params(&params).or(TraceContext::from_headers(&headers.collect()));
        context.put_into(&mut params);
        let sent: Value = serde_json::from_str(params.to_raw().get()).unwrap();
        assert_eq!(sent["_meta"], *expected);
    }

    #[test]
    fn headers_are_forwarded_in_meta_and_meta_takes_precedence() {
        let headers = [
            ("traceparent", TRACE),
            ("tracestate", "a=1"),
            ("baggage", "user=alice"),
        ];
        let whole = json!({ "traceparent": TRACE, "tracestate": "a=1", "baggage": "user=alice" });
        check(&headers, &json!({}), &whole);
        check(
            &headers,
            &json!({ "traceparent": OTHER, "x": 1 }),
            &json!({ "traceparent": OTHER, "x": 1, "baggage": "user=alice" }),
        );
        let states = [
            ("traceparent", TRACE),
            ("tracestate", "a=1"),
            ("tracestate", "b=2"),
        ];
        check(
            &states,
            &json!({}),
            &json!({ "traceparent": TRACE, "tracestate": "a=1,b=2" }),
        );
    }

    #[test]
    fn invalid_values_are_dropped() {
        check(
            &[],
            &json!({ "traceparent": "garbage", "tracestate": "a=1" }),
            &Value::Null,
        );
        check(
            &[],
            &json!({ "traceparent": 7, "baggage": ["a=1"] }),
            &Value::Null,
        );
        check(
            &[("traceparent", "00-xyz"), ("baggage", "no pair")],
            &json!({}),
            &json!({}),
        );
        let long = format!("a={}", "x".repeat(LONGEST_STATE));
        check(
            &[],
            &json!({ "traceparent": TRACE, "tracestate": long, "baggage": "a=\u{e9}" }),
            &json!({ "traceparent": TRACE }),
        );
        check(
            &[],
            &json!({ "tracestate": "a=1", "x": 1 }),
            &json!({ "x": 1 }),
        );
    }

    #[test]
    fn the_gateways_span_replaces_the_parent() {
        let context = TraceContext::from_params(&params(&json!({ "traceparent": TRACE })));
        let span = OTHER.parse().ok();
        assert_eq!(context.under_span(span).api_headers()["traceparent"], OTHER);
        assert_eq!(context.under_span(None).api_headers()["traceparent"], TRACE);
        assert!(TraceContext::default().api_headers().is_empty());
    }

    #[test]
    fn an_api_gets_the_trace_and_no_baggage() {
        let meta = json!({ "traceparent": TRACE, "tracestate": "a=1", "baggage": "user=ann" });
        let headers = TraceContext::from_params(&params(&meta)).api_headers();
        assert_eq!(headers["traceparent"], TRACE);
        assert_eq!(headers["tracestate"], "a=1");
        assert!(!headers.contains_key(BAGGAGE));
    }
}
