//! Rebuilds the crate when a migration is added, which `sqlx::migrate!` does not do by itself.

fn main() {
    println!("cargo:rerun-if-changed=migrations");
}
