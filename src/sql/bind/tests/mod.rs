//! Queries bound and interpreted, beside what PostgreSQL 15 answers.
//!
//! `queries.golden` holds each query, a line of dashes and PostgreSQL's answer: names and types of
//! the columns, then the rows (sorted where the query has no ORDER BY), or the error. The tables
//! are those of `fixture.tsv`.

mod interpret;
mod oracle;
