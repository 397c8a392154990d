//! What there is to see: pages, each a query whose first column names the row.

/// What a column's values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Words.
    Text,
    /// A number of things.
    Count,
    /// Bytes.
    Bytes,
    /// Nanoseconds.
    Nanos,
    /// Nanoseconds so far: what is shown is how many of each second came since the last look.
    Rate,
    /// A part of 1.
    Part,
    /// A number: what is shown is its part of the sum of all rows.
    Share,
}

/// A column.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its heading.
    pub name: &'static str,
    /// What its values are.
    pub kind: Kind,
    /// How wide it is; 0: all that is left.
    pub width: u16,
}

/// A page.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    /// Its title.
    pub name: &'static str,
    /// The query. `$object` is the object that was chosen.
    pub sql: &'static str,
    /// The columns behind the first, which names the row.
    pub columns: &'static [Column],
    /// The column by which it is sorted at first.
    pub sort: usize,
    /// What to say where there is nothing.
    pub empty: &'static str,
}

const fn column(name: &'static str, kind: Kind, width: u16) -> Column {
    Column { name, kind, width }
}

/// The pages that one can go to.
pub const PAGES: &[Page] = &[
    Page {
        name: "Relations",
        sql: "SELECT c.object, c.schema || '.' || c.name, c.elapsed_ns, c.elapsed_ns, f.lag_ns, \
              c.bytes, c.records, f.readers, f.dependents \
              FROM weir_catalog.weir_relation_costs c \
              LEFT JOIN weir_catalog.weir_frontiers f ON f.object = c.object",
        columns: &[
            column("relation", Kind::Text, 0),
            column("now", Kind::Rate, 7),
            column("time", Kind::Nanos, 9),
            column("lag", Kind::Nanos, 9),
            column("memory", Kind::Bytes, 9),
            column("records", Kind::Count, 10),
            column("readers", Kind::Count, 7),
            column("views", Kind::Count, 5),
        ],
        sort: 1,
        empty: "no relations",
    },
    Page {
        name: "Critical operators",
        sql: "SELECT o.operator, coalesce(c.relname, 'queries'), w.name, w.plan_node, \
              o.participation, o.share, o.workers \
              FROM weir_catalog.weir_critical_operators o \
              LEFT JOIN pg_catalog.pg_class c ON c.oid = o.object \
              LEFT JOIN weir_catalog.weir_operators w ON w.worker = 0 AND w.id = o.operator \
              WHERE o.snapshot = (SELECT max(snapshot) FROM weir_catalog.weir_snapshots)",
        columns: &[
            column("relation", Kind::Text, 24),
            column("operator", Kind::Text, 0),
            column("plan node", Kind::Text, 10),
            column("critical", Kind::Part, 9),
            column("busy", Kind::Part, 7),
            column("workers", Kind::Count, 7),
        ],
        sort: 3,
        empty: "nothing is profiled: p begins, or ALTER SYSTEM SET introspection_snapshot = '1s'",
    },
    Page {
        name: "Sessions",
        sql: "SELECT id, pid, username, state, \
              greatest(0, extract(epoch FROM now()) * 1000000000 - since), \
              regexp_replace(statement, '\\s+', ' ', 'g') FROM weir_catalog.weir_sessions",
        columns: &[
            column("pid", Kind::Count, 10),
            column("user", Kind::Text, 12),
            column("state", Kind::Text, 20),
            column("since", Kind::Nanos, 9),
            column("statement", Kind::Text, 0),
        ],
        sort: 3,
        empty: "no sessions",
    },
    Page {
        name: "Subscriptions",
        sql: "SELECT s.id || ' ' || s.object, coalesce(c.relname, s.object::text), s.waiting, \
              greatest(0, extract(epoch FROM now()) * 1000000000 - s.told), \
              greatest(0, extract(epoch FROM now()) * 1000000000 - s.as_of) \
              FROM weir_catalog.weir_subscriptions s \
              LEFT JOIN pg_catalog.pg_class c ON c.oid = s.object",
        columns: &[
            column("relation", Kind::Text, 0),
            column("waiting", Kind::Count, 8),
            column("behind", Kind::Nanos, 9),
            column("since", Kind::Nanos, 9),
        ],
        sort: 1,
        empty: "no subscriptions",
    },
];

/// The operators of a relation.
pub const OPERATORS: Page = Page {
    name: "Operators",
    sql: "SELECT o.id, o.name, o.plan_node, sum(e.elapsed_ns), sum(e.elapsed_ns), \
          sum(e.elapsed_ns), sum(e.activations), sum(a.bytes) \
          FROM weir_catalog.weir_operators o \
          JOIN weir_catalog.weir_operator_elapsed e ON e.worker = o.worker AND e.id = o.id \
          LEFT JOIN weir_catalog.weir_arrangements a ON a.worker = o.worker AND a.operator = o.id \
          WHERE o.object = $object GROUP BY o.id, o.name, o.plan_node",
    columns: &[
        column("operator", Kind::Text, 0),
        column("plan node", Kind::Text, 10),
        column("share", Kind::Share, 7),
        column("now", Kind::Rate, 7),
        column("time", Kind::Nanos, 9),
        column("runs", Kind::Count, 10),
        column("memory", Kind::Bytes, 9),
    ],
    sort: 2,
    empty: "no operators: it was made while introspection was off, or is gone",
};

/// What the first line says.
pub const SUMMARY: &str = "SELECT \
    (SELECT bytes FROM weir_catalog.weir_memory WHERE component = 'resident'), \
    (SELECT bytes FROM weir_catalog.weir_memory WHERE component = 'arrangements'), \
    (SELECT sum(bytes) FROM weir_catalog.weir_storage), \
    (SELECT count(DISTINCT worker) FROM weir_catalog.weir_parks), \
    (SELECT max(lag_ns) FROM weir_catalog.weir_frontiers)";
