//! The bill of materials, in CycloneDX 1.6: each package that the binary is linked from.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context;
use serde_json::{Value, json};
use xtask::cargo;

use super::{Release, read_output, write_file};

pub(super) fn write_bill(release: &Release<'_>) -> anyhow::Result<String> {
    let name = format!("kitbag-{}.cdx.json", release.version);
    let checksums = read_checksums(&release.read_source("Cargo.lock")?);
    let bill = to_cyclonedx(&linked_packages(release)?, &checksums)?;
    let text = serde_json::to_string_pretty(&bill)? + "\n";
    write_file(&release.options.out.join(&name), &text)?;
    Ok(name)
}

#[derive(Debug, Default)]
struct Package {
    license: String,
    dependencies: BTreeSet<Identity>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Identity {
    name: String,
    version: String,
}

impl Identity {
    fn reference(&self) -> String {
        format!("{}@{}", self.name, self.version)
    }
}

/// Asks `cargo tree` rather than `cargo metadata`, which also follows features that are off.
fn linked_packages(release: &Release<'_>) -> anyhow::Result<BTreeMap<Identity, Package>> {
    let mut packages = BTreeMap::new();
    for target in &release.options.targets {
        let arguments = [
            "tree",
            "--locked",
            "--package=kitbag",
            "--edges=normal,no-proc-macro",
            "--prefix=depth",
            "--format=\t{p}\t{l}",
            "--target",
            &target.triple,
        ];
        let tree = read_output(&mut cargo::command(release.repository, &arguments))?;
        collect_packages(&tree, &mut packages)?;
    }
    Ok(packages)
}

/// Reads lines such as `2⇥serde v1.0.0⇥MIT OR Apache-2.0`, each below the last one of less depth.
fn collect_packages(tree: &str, packages: &mut BTreeMap<Identity, Package>) -> anyhow::Result<()> {
    let mut path: Vec<Identity> = Vec::new();
    for line in tree.lines() {
        let mut fields = line.split('\t');
        let mut field = || fields.next().with_context(|| format!("reading `{line}`"));
        let depth: usize = field()?.parse()?;
        let mut words = field()?.split(' ');
        let mut word = || words.next().with_context(|| format!("reading `{line}`"));
        let identity = Identity {
            name: word()?.to_owned(),
            version: word()?.trim_start_matches('v').to_owned(),
        };
        let license = field()?.trim_end_matches(" (*)");
        path.truncate(depth);
        if let Some(parent) = path.last().and_then(|parent| packages.get_mut(parent)) {
            parent.dependencies.insert(identity.clone());
        }
        let package = packages.entry(identity.clone()).or_default();
        // Before SPDX expressions, a slash was the way to write a choice.
        package.license = license.replace('/', " OR ");
        path.push(identity);
    }
    Ok(())
}

/// The checksums of packages that come from a registry.
fn read_checksums(lock: &str) -> BTreeMap<Identity, String> {
    let blocks = lock.split("[[package]]").skip(1);
    let read = |block: &str| {
        let value = |key: &str| {
            let start = format!("{key} = \"");
            let line = block.lines().find_map(|line| line.strip_prefix(&start))?;
            Some(line.trim_end_matches('"').to_owned())
        };
        let identity = Identity {
            name: value("name")?,
            version: value("version")?,
        };
        Some((identity, value("checksum")?))
    };
    blocks.filter_map(read).collect()
}

fn to_cyclonedx(
    packages: &BTreeMap<Identity, Package>,
    checksums: &BTreeMap<Identity, String>,
) -> anyhow::Result<Value> {
    let (root, others): (Vec<_>, Vec<_>) = packages
        .iter()
        .partition(|(identity, _)| identity.name == "kitbag");
    let (root, kitbag) = root.first().context("kitbag is not in its own tree")?;
    let describe = |kind: &str, identity: &Identity, package: &Package| {
        let mut component = json!({
            "type": kind,
            "bom-ref": identity.reference(),
            "name": identity.name,
            "version": identity.version,
        });
        if let Some(checksum) = checksums.get(identity) {
            component["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
        }
        if !package.license.is_empty() {
            component["licenses"] = json!([{ "expression": package.license }]);
        }
        // A package of this repository is in no registry, so it has no such address.
        if checksums.contains_key(identity) {
            component["purl"] = json!(format!("pkg:cargo/{}", identity.reference()));
        }
        component
    };
    let libraries = others
        .iter()
        .map(|(it, package)| describe("library", it, package));
    let edges = packages.iter().map(|(identity, package)| {
        let dependencies = package.dependencies.iter().map(Identity::reference);
        json!({ "ref": identity.reference(), "dependsOn": dependencies.collect::<Vec<_>>() })
    });
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": { "component": describe("application", root, kitbag) },
        "components": libraries.collect::<Vec<_>>(),
        "dependencies": edges.collect::<Vec<_>>(),
    }))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{collect_packages, read_checksums, to_cyclonedx};

    #[test]
    fn a_tree_becomes_components_and_their_edges() {
        let tree = "0\tkitbag v1.0.0 (/source)\tApache-2.0\n1\ta v0.1.0\tMIT/Apache-2.0\n2\tb v0.2.0\tMIT\n1\tb v0.2.0\tMIT (*)";
        let lock = "[[package]]\nname = \"b\"\nversion = \"0.2.0\"\nchecksum = \"c0ffee\"\n";
        let mut packages = BTreeMap::new();
        collect_packages(tree, &mut packages).unwrap();
        let bill = to_cyclonedx(&packages, &read_checksums(lock)).unwrap();
        assert_eq!(bill["metadata"]["component"]["bom-ref"], "kitbag@1.0.0");
        let [a, b] = &bill["components"].as_array().unwrap()[..] else {
            panic!("{bill}");
        };
        assert_eq!(a["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert_eq!((a.get("purl"), a.get("hashes")), (None, None));
        assert_eq!(b["purl"], "pkg:cargo/b@0.2.0");
        assert_eq!(b["hashes"][0]["content"], "c0ffee");
        let edges = bill["dependencies"].to_string();
        assert_eq!(
            edges,
            r#"[{"ref":"a@0.1.0","dependsOn":["b@0.2.0"]},{"ref":"b@0.2.0","dependsOn":[]},{"ref":"kitbag@1.0.0","dependsOn":["a@0.1.0","b@0.2.0"]}]"#
        );
    }
}
