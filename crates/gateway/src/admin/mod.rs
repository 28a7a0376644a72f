//! What the command line asks of a gateway besides serving: offers as rows, searches explained,
//! priors, exams. Reaches every other room through [`Turn`](crate::turn::Turn) and `state`;
//! no room reaches it, and no request of a client comes here.

pub mod app;
mod eval;
pub mod eval_client;
pub mod offers;
pub mod priors_report;
pub mod search;
