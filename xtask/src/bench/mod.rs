//! The benches: what the gateway costs, how well it finds, beside whom, how fast, and what a model pays.

mod catalog;
mod clients;
mod convert;
mod extras;
mod http;
mod judge;
mod load;
mod options;
mod peer;
mod peers;
mod plot;
mod proxy;
mod retrieval;
mod sets;
mod speed;
mod table;
mod tokens;
mod ways;

use anyhow::bail;

use crate::repository::Repository;

pub(crate) fn run(repository: &Repository, arguments: &[&str]) -> anyhow::Result<()> {
    match arguments {
        ["proxy", rest @ ..] => proxy::run(repository, rest),
        ["retrieval", rest @ ..] => retrieval::run(repository, rest),
        ["peers", rest @ ..] => peers::run(repository, rest),
        ["speed", rest @ ..] => speed::run(repository, rest),
        ["tokens", rest @ ..] => tokens::run(repository, rest),
        ["clients", rest @ ..] => clients::run(repository, rest),
        _ => bail!(
            "there are the benches proxy, retrieval, peers, speed, tokens and clients; see `cargo xtask help`"
        ),
    }
}
