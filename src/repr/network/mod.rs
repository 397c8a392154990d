//! Addresses: `inet`, `cidr` and `macaddr`.
//!
//! inet and cidr are one kind of value, an [`Inet`]; the type tells what may stand in it and how
//! it is spelled. The text forms are those of PostgreSQL's `inet_net_pton.c` and
//! `inet_net_ntop.c`, with all that they let pass.

mod cidr;
mod inet;
mod mac;
mod read;
mod write;

pub use cidr::push_abbreviated;
pub use inet::{Inet, V4, V6};
pub(in crate::repr) use inet::{format_binary, parse_binary};
pub(in crate::repr) use mac::{format_mac, parse_mac};
pub(in crate::repr) use read::parse_text;
pub use write::{push_address, push_network};
