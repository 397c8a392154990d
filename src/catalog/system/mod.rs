//! System relations: what the engine tells about itself, as relations like any other.
//!
//! They have fixed ids below [`GlobalId::FIRST_USER`](crate::repr::GlobalId::FIRST_USER), are found
//! by name in `pg_catalog`, `weir_catalog` and `information_schema`, and can be read by any query,
//! view, index or subscription. They are *ephemeral*: sequenced in the same time as what users
//! store, but never logged. After a restart they begin anew, so that their history does not reach
//! back before it. A text of a view names them as it names a table, so a maintained view over them
//! is planned again at each start.
//!
//! # How to add one
//!
//! 1. Declare it in the file of its schema ([`declared`] lists them). A blank line ends each
//!    declaration:
//!
//!    ```text
//!    fed weir_things 15001 id,part      (kind, name, id, its key or `-`)
//!      id oid!                          (a column, its `pg_type.typname`, `!`: never NULL)
//!      part int4!
//!      what text
//!    ```
//!
//!    The id is any number below 16384 that no other has (a test says so); `pg_catalog` has
//!    PostgreSQL's own oids, `weir_catalog` counts from 15000. The kinds:
//!
//!    - `fed`: its rows change. An arrangement is there from the start on.
//!    - `constant`: its rows never change; they are made when the first reader comes.
//!    - `empty`: it has no rows (yet); a reader sees an empty constant, which plans melt away.
//!    - `session`: each session sees rows of its own, which the binder makes.
//!    - `view`: an SQL query over others, behind the columns as lines that begin with `=`. It is
//!      bound where it is read and costs nothing before. All names in it are qualified.
//!
//! 2. Say where its rows come from: an entry of `FEEDS` in `session::system`. Rows that follow from
//!    the catalog's objects are a function of the catalog: they are computed again at each DDL
//!    commit, and what has changed is written at the commit's own time. Rows that come from
//!    elsewhere (measurements) need no entry: they are sent at any time by [`Client::feed`], as
//!    changes in the relation's layout, which [`Engine::system_rows`] makes; all changes of one
//!    call have one time.
//!
//! A read never waits for a feed: a relation that nobody has written to is complete at every time.
//!
//! [`Client::feed`]: crate::coord::request::Client::feed
//! [`Engine::system_rows`]: crate::session::engine::Engine::system_rows

pub mod declared;
pub mod named;
pub mod oids;
