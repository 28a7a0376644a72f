//! The parts of the chores that the tests of the repository use, too.

pub mod shape;
