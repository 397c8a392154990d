//! The functions that PostgreSQL reads and writes types with.
//!
//! Nobody calls them here, but `pg_type` names them, clients look them up (`array_in`, `int4recv`)
//! and `regproc` spells them. They are a data file: oid, name, arguments, result, strictness and
//! volatility, as `pg_proc` has them.

use std::sync::OnceLock;

const FILE: &str = include_str!("io_functions.tsv");

/// One of them.
#[derive(Clone, Debug)]
pub struct IoFunction {
    /// Its oid.
    pub oid: u32,
    /// Its name.
    pub name: &'static str,
    /// The oids of its arguments' types.
    pub args: Vec<u32>,
    /// The oid of its result's type.
    pub ret: u32,
    /// Whether it is strict.
    pub strict: bool,
    /// `pg_proc.provolatile`.
    pub volatility: &'static str,
}

/// All of them, by oid.
pub fn io_functions() -> &'static [IoFunction] {
    static ALL: OnceLock<Vec<IoFunction>> = OnceLock::new();
    ALL.get_or_init(|| {
        let number = |text: &str| text.parse().unwrap_or(0);
        let read = |line: &'static str| {
            let fields: Vec<_> = line.split('\t').collect();
            let args = fields[2].split(',').filter(|arg| !arg.is_empty());
            IoFunction {
                oid: number(fields[0]),
                name: fields[1],
                args: args.map(number).collect(),
                ret: number(fields[3]),
                strict: fields[4] == "1",
                volatility: fields[5],
            }
        };
        FILE.lines().map(read).collect()
    })
}
