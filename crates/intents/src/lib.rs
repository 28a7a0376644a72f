//! Finds which program or tool carries out a request in words, and learns from programs that
//! worked.
