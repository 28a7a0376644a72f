//! Text into vectors, by a small transformer that runs on any machine.
