//! Compares two versions of the configuration.

use super::Config;
use super::rows::TableLayout;
use super::sections::SECTIONS;

/// Returns the keys whose new values take effect only after a restart.
pub fn keys_needing_restart(running: &Config, config: &Config) -> Vec<String> {
    let mut keys = Vec::new();
    for section in SECTIONS {
        let TableLayout::One(table) = section.layout else {
            continue;
        };
        let rows = table.rows.iter();
        let changed = rows.filter(|row| row.restart.is_some_and(|it| !(it.same)(running, config)));
        keys.extend(changed.map(|row| format!("{}.{}", table.path, row.name)));
    }
    keys
}

/// Returns the sections whose values changed. Servers are compared one by one elsewhere.
pub fn changed_sections(before: &Config, after: &Config) -> Vec<&'static str> {
    SECTIONS
        .iter()
        .filter(|section| {
            section
                .fingerprint
                .is_some_and(|written| written(before) != written(after))
        })
        .map(|section| section.name)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::config;

    /// Compares an empty configuration with another one.
    #[track_caller]
    fn check(text: &str, keys: &[&str], sections: &[&str]) {
        let (before, after) = (config("").unwrap(), config(text).unwrap());
        assert_eq!(keys_needing_restart(&before, &after), keys, "{text}");
        assert_eq!(changed_sections(&before, &after), sections, "{text}");
    }

    #[test]
    fn a_reload_names_the_keys_that_need_a_restart_and_the_sections_that_changed() {
        check("", &[], &[]);
        check(
            "serve.bind = '127.0.0.1:1'\nserve.page_size = 7\nstore.path = 'x.db'",
            &["serve.bind", "store.path"],
            &["serve", "store"],
        );
        check(
            "[index.embedder]\ndirectory = 'm'",
            &["index.embedder"],
            &["index"],
        );
        check("agents.enabled = false", &[], &["agents"]);
        check("groups.all = ['*/*']", &[], &["groups"]);
        check("[tenants.acme]", &[], &["policy"]);
        check("servers.git.command = 'git-mcp'", &[], &[]);
    }

    #[test]
    fn counting_each_tool_needs_a_restart_only_with_a_collector() {
        let each = "telemetry.metrics_per_tool = true";
        check(each, &[], &["telemetry"]);
        let collector = "telemetry.otlp_endpoint = 'http://127.0.0.1:4318'";
        let both = format!("{each}\n{collector}");
        let (before, after) = (config(collector).unwrap(), config(&both).unwrap());
        assert_eq!(
            keys_needing_restart(&before, &after),
            ["telemetry.metrics_per_tool"]
        );
    }
}
