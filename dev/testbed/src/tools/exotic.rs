//! Results and definitions that no common type describes, as exact text.

use kitbag_wire::{ErrorObject, Raw};
use serde_json::value::RawValue;

use super::{TestTool, no_arguments};
use crate::call::{CallEnd, CallOutcome, Dialogue, Reply, TestCall};

pub(super) const TOOLS: &[TestTool] = &[
    TestTool::new(
        "exotic",
        "Returns what no type expects",
        no_arguments,
        |call| Box::pin(exotic(call)),
    ),
    TestTool::new(
        "exotic_error",
        "Fails with what no type expects",
        no_arguments,
        |_| Box::pin(exotic_error()),
    ),
];

pub(crate) const LEGACY_RESULT: &str = concat!(
    r#"{"zeta":{"vendor.example/nested":[{"b":1.0,"a":1.50,"deep":{"n":-0.0,"#,
    r#""big":123456789012345678901234567890}}]},"#,
    r#""content":[{"type":"text","text":"plain"},"#,
    r#"{"type":"hologram","voxels":[[1.0,2.50,3e2]],"mimeType":"model/x-voxel","label":"caf\u00e9 \/ slash"},"#,
    r#"{"text":"odd order","annotations":{"priority":0.10,"audience":["user"],"x":null},"type":"text"}],"#,
    r#""structuredContent":{"above":18446744073709551616,"below":-9223372036854775809,"huge":1e400,"#,
    r#""one":1.0,"trailing":1.50,"exponent":1E+2,"empty":{},"none":[]},"isError":false,"#,
    r#""_meta":{"vendor.example/trace":"00-abc","zz":[],"aa":{}},"#,
    r#""unknownTopLevel":[true,null,{"k":"v"}],"alpha":0}"#,
);

/// The same with the required members of a modern result, in the middle of the others.
pub(crate) const MODERN_RESULT: &str = concat!(
    r#"{"zeta":{"vendor.example/nested":[{"b":1.0,"a":1.50,"deep":{"n":-0.0,"#,
    r#""big":123456789012345678901234567890}}]},"#,
    r#""content":[{"type":"text","text":"plain"},"#,
    r#"{"type":"hologram","voxels":[[1.0,2.50,3e2]],"mimeType":"model/x-voxel","label":"caf\u00e9 \/ slash"},"#,
    r#"{"text":"odd order","annotations":{"priority":0.10,"audience":["user"],"x":null},"type":"text"}],"#,
    r#""resultType":"complete","#,
    r#""structuredContent":{"above":18446744073709551616,"below":-9223372036854775809,"huge":1e400,"#,
    r#""one":1.0,"trailing":1.50,"exponent":1E+2,"empty":{},"none":[]},"isError":false,"#,
    r#""_meta":{"vendor.example/trace":"00-abc","zz":[],"#,
    r#""io.modelcontextprotocol/serverInfo":{"version":"0","name":"exotic"},"aa":{}},"#,
    r#""unknownTopLevel":[true,null,{"k":"v"}],"alpha":0}"#,
);

const ERROR_DATA: &str =
    r#"{"z":1.50,"big":123456789012345678901234567890,"a":["caf\u00e9",{}],"none":null}"#;

pub(crate) const DEFINITION_NAME: &str = "exotic_definition";

pub(crate) const DEFINITION: &str = concat!(
    r#"{"inputSchema":{"properties":{"#,
    r#""start":{"type":"object","properties":{"lat":{"type":"number","maximum":90.0},"lon":{"type":"number"}},"#,
    r#""required":["lat","lon"]},"#,
    r##""end":{"$ref":"#/properties/start"},"##,
    r#""count":{"minimum":1,"type":"integer","default":1e0}},"#,
    r#""x-vendor":{"order":["start","end"]},"required":["start"],"type":"object"},"#,
    r#""vendorField":{"b":1.0,"a":[1.50]},"#,
    r#""description":"A definition with members in no common order and some that nobody knows","#,
    r#""execution":{"taskSupport":"forbidden","vendorHint":true},"#,
    r#""_meta":{"vendor.example/tags":["z","a"],"vendor.example/weight":12345678901234567890123},"#,
    r#""icons":[{"src":"https://example.com/icon.png","mimeType":"image/png","sizes":["48x48"],"vendor":"x"}],"#,
    r#""annotations":{"readOnlyHint":true,"title":"Exotic","vendorHint":7.0},"#,
    r#""title":"An exotic definition","name":"exotic_definition"}"#,
);

pub(super) fn definition() -> Raw {
    verbatim(DEFINITION)
}

async fn exotic(call: TestCall) -> CallOutcome {
    let text = match call.dialogue {
        Dialogue::Legacy => LEGACY_RESULT,
        Dialogue::Modern | Dialogue::Task(_) => MODERN_RESULT,
    };
    Ok(Reply::Verbatim(verbatim(text)))
}

async fn exotic_error() -> CallOutcome {
    let error = ErrorObject {
        data: Some(verbatim(ERROR_DATA)),
        ..ErrorObject::new(-31_415, "as exotic as can be")
    };
    Err(CallEnd::Error(error))
}

fn verbatim(text: &str) -> Raw {
    RawValue::from_string(text.to_owned()).expect("the constants of this file are JSON")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exotic_texts_are_json() {
        for text in [LEGACY_RESULT, MODERN_RESULT, ERROR_DATA, DEFINITION] {
            assert_eq!(verbatim(text).get(), text);
        }
    }
}
