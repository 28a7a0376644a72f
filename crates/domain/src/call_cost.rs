//! The cost of an answer, in tokens that a model reads and in dollars.

use serde::{Deserialize, Serialize};

/// A price in billionths of a US dollar, so that prices add up exactly.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct NanoUsd(pub i64);

/// The cost of one call or search, as far as it is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallCost {
    /// The estimated tokens of the answer that a model gets.
    pub tokens: Option<u64>,
    /// The operator's declared price of a call, or else the one derived from the call.
    pub price: Option<NanoUsd>,
}

impl NanoUsd {
    const ONE_DOLLAR: f64 = 1e9;

    pub fn from_usd(usd: f64) -> Self {
        // Too large a number becomes the maximum, and NaN becomes zero.
        Self((usd * Self::ONE_DOLLAR).round() as i64)
    }

    pub fn to_usd(self) -> f64 {
        self.0 as f64 / Self::ONE_DOLLAR
    }
}
