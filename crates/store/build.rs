//! Rebuilds the crate when a migration is added, which `sqlx::migrate!` alone does not notice.

fn main() {
    println!("cargo:rerun-if-changed=migrations");
}
