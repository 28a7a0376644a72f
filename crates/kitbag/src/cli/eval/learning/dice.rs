//! Random numbers that are the same on every machine for the same seed.

#[derive(Debug, Clone, Copy)]
pub(in crate::cli::eval) struct Dice(u64);

impl Dice {
    pub(in crate::cli::eval) fn new(seed: u64, round: u64) -> Self {
        let mut dice = Self(seed.rotate_left(32) ^ round);
        // Otherwise the first numbers of adjacent seeds would be similar.
        dice.next_random();
        dice
    }

    /// `SplitMix64`, with the constants of its authors.
    fn next_random(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(in crate::cli::eval) fn chance(&mut self, probability: f64) -> bool {
        // The upper 53 bits fill the fraction of a float exactly.
        ((self.next_random() >> 11) as f64) < probability * (1_u64 << 53) as f64
    }

    /// Returns a random element, or `None` if the slice is empty.
    pub(in crate::cli::eval) fn pick<'a, T>(&mut self, among: &'a [T]) -> Option<&'a T> {
        let count = among.len() as u64;
        let position = self.next_random().checked_rem(count)?;
        among.get(position as usize)
    }

    pub(in crate::cli::eval) fn shuffle<T>(&mut self, things: &mut [T]) {
        for last in (1..things.len()).rev() {
            let other = (self.next_random() % (last as u64 + 1)) as usize;
            things.swap(last, other);
        }
    }
}
