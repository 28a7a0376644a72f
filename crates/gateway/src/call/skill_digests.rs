//! Compares the files of skills with the digests in the approved definitions of the skills.

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kitbag_domain::Capability;
use kitbag_wire::{Raw, RawObject};

use crate::catalog::Catalog;

/// False if a skill that callers get states another digest for the file than the server's answer
/// has. A file without a digest may have any content.
pub(crate) fn has_approved_content(catalog: &Catalog, file: &Capability, answer: &Raw) -> bool {
    let skills = catalog.skills.iter();
    let skills = skills.filter(|it| it.capability.server == file.server);
    let digests: Vec<String> = skills
        .flat_map(|it| listed_digests(&it.definition, &file.name))
        .collect();
    let contents = members(answer, "contents");
    digests.is_empty() || contents.iter().all(|it| digests.contains(&sha256_of(it)))
}

/// Returns the SHA-256 digests that a skill lists for this file.
fn listed_digests(skill: &Raw, uri: &str) -> Vec<String> {
    let files = members(skill, "resources").into_iter();
    let named = files.filter(|it| it.read::<String>("uri").as_deref() == Some(uri));
    let digests = named.filter_map(|it| it.read::<String>("digest"));
    digests.filter(|it| it.starts_with(SHA256_PREFIX)).collect()
}

const SHA256_PREFIX: &str = "sha256:";

fn sha256_of(content: &RawObject) -> String {
    let text = content.read::<String>("text").map(String::into_bytes);
    let bytes = text.or_else(|| STANDARD.decode(content.read::<String>("blob")?).ok());
    let hash = digest(&SHA256, &bytes.unwrap_or_default());
    let digits = hash.as_ref().iter().map(|byte| format!("{byte:02x}"));
    format!("{SHA256_PREFIX}{}", digits.collect::<String>())
}

fn members(object: &Raw, list: &str) -> Vec<RawObject> {
    let object = RawObject::open(object).unwrap_or_default();
    let entries: Vec<Raw> = object.read(list).unwrap_or_default();
    let entries = entries.iter().filter_map(|it| RawObject::open(it).ok());
    entries.collect()
}
