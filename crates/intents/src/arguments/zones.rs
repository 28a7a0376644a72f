//! Names of time zones, and the zone that a location means.

use serde_json::{Map, Value};

/// The names of the system's IANA database.
#[derive(Debug, Clone, Default)]
pub struct ZoneNames(Vec<String>);

impl ZoneNames {
    pub fn new(names: impl IntoIterator<Item = String>) -> Self {
        let left_out = ["posix/", "right/", "SystemV/", "Etc/"];
        let names = names.into_iter();
        let mut names: Vec<String> = names
            .filter(|name| !left_out.iter().any(|start| name.starts_with(start)))
            .collect();
        // Of two names for one location, such as `America/Argentina/Buenos_Aires`, the shorter is
        // usual.
        names.sort_by_key(|name| (name.matches('/').count(), name.len()));
        Self(names)
    }

    /// Returns the zone of this name, or the one whose last part is this location.
    pub fn zone(&self, location: &str) -> Option<&str> {
        let location = location.trim().replace(' ', "_");
        let mut names = self.0.iter();
        let whole = names
            .clone()
            .find(|name| name.eq_ignore_ascii_case(&location));
        let zone = whole.or_else(|| {
            names.find(|name| {
                let last = name.rsplit_once('/').map(|(_, last)| last);
                last.is_some_and(|last| last.eq_ignore_ascii_case(&location))
            })
        });
        zone.map(String::as_str)
    }

    /// True if the system has no database, so that no name can be judged.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// True if a parameter expects the name of a time zone, by its name or its description.
pub fn wants_zone(name: &str, description: &str) -> bool {
    let name = name.to_lowercase();
    let named = ["timezone", "time_zone", "tz"]
        .iter()
        .any(|it| name.contains(it));
    named || description.to_lowercase().contains("iana")
}

/// Replaces a location by the name of its zone: `Tokyo` by `Asia/Tokyo`. Returns the parameter and
/// the text that is not a zone.
pub fn resolve_zones(
    schema: &Value,
    arguments: &mut Map<String, Value>,
    zones: &ZoneNames,
) -> Result<(), (String, String)> {
    for (name, value) in arguments {
        let property = &schema["properties"][name.as_str()];
        let description = property["description"].as_str().unwrap_or_default();
        let Value::String(text) = value else { continue };
        if !wants_zone(name, description) {
            continue;
        }
        match zones.zone(text) {
            Some(zone) => zone.clone_into(text),
            None => return Err((name.clone(), text.clone())),
        }
    }
    Ok(())
}
