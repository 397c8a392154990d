//! `weir top`: what a running server is doing, in a terminal.
//!
//! It is a client like any other: all that it shows are rows of the `weir_` relations.
//!
//! * [`pages`] — what there is to see: a query each, and what its columns mean
//! * [`view`] — which of it is shown, in which order
//! * [`draw`] — the picture
//! * [`run`] — the keys, and asking the server again and again

pub mod draw;
pub mod pages;
pub mod run;
pub mod view;
