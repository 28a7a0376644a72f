//! An HTTP API in one line, for a context without room for its description.

use http::Method;
use kitbag_apis::ProviderSpec;
use kitbag_domain::text::first_sentence;

/// Formats an HTTP API as the call that reaches it.
pub(crate) fn api_signature(spec: &ProviderSpec) -> String {
    let methods: Vec<&str> = spec.methods.iter().map(Method::as_str).collect();
    let method = if spec.methods.iter().all(Method::is_safe) {
        String::new()
    } else {
        format!("method: {}, ", methods.join("|"))
    };
    let body = if method.is_empty() { "" } else { ", body" };
    let call = format!(
        "call_api(provider: \"{}\", {method}path, query{body})",
        spec.name
    );
    match spec
        .description
        .as_deref()
        .map(first_sentence)
        .filter(|summary| !summary.is_empty())
    {
        Some(summary) => format!("{call} · {summary}"),
        None => call,
    }
}
