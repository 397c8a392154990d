//! The workloads: what the tables hold, what changes, and the query.
//!
//! A table's rows are a function of their number, so every program reads the same ones. A change
//! removes one of the first `rows` and adds one beyond them.

/// Spreads numbers, the same way every time.
pub fn mix(mut x: u64) -> u64 {
    x ^= x >> 30;
    x = x.wrapping_mul(0xbf58476d1ce4e5b9);
    x ^= x >> 27;
    x = x.wrapping_mul(0x94d049bb133111eb);
    x ^ (x >> 31)
}

/// A row of a table: which, and its numbers, of which it uses as many as it has columns.
pub type Fact = (usize, [u32; 3]);

/// A query over tables of numbers.
#[derive(Clone, Copy)]
pub struct Workload {
    /// Its name.
    pub name: &'static str,
    /// What the other program by hand calls it.
    pub reference: Option<&'static str>,
    /// The tables: their names and numbers of columns.
    pub tables: &'static [(&'static str, usize)],
    /// The rules, and what is asked.
    pub text: &'static str,
    /// How many nodes there are.
    pub nodes: u64,
    /// How many rows the tables are loaded with.
    pub rows: u64,
    /// A row of the tables, by the number of nodes and its own.
    fact: fn(u64, u64) -> Fact,
    /// Rows that do not change.
    fixed: fn(u64) -> Vec<Fact>,
}

/// All of them.
pub const WORKLOADS: &[Workload] = &[
    Workload {
        name: "closure",
        reference: Some("tc"),
        tables: &[("edge", 2)],
        text: "path(X, Y) <- edge(X, Y). path(X, Z) <- path(X, Y), edge(Y, Z). \
               FIND X, Y WHERE path(X, Y)",
        nodes: 120_000,
        rows: 100_000,
        fact: edge,
        fixed: |_| Vec::new(),
    },
    Workload {
        name: "reach",
        reference: Some("reach"),
        tables: &[("edge", 2), ("root", 1)],
        text: "reach(X) <- root(X). reach(Y) <- reach(X), edge(X, Y). FIND X WHERE reach(X)",
        nodes: 200_000,
        rows: 1_000_000,
        fact: edge,
        fixed: |nodes| {
            let first = (0..3).map(|number| edge(nodes, number).1[0]);
            [0].into_iter().chain(first).map(|root| (1, [root, 0, 0])).collect()
        },
    },
    Workload {
        name: "triangles",
        reference: None,
        tables: &[("edge", 2)],
        text: "FIND X, Y, Z WHERE edge(X, Y), edge(Y, Z), edge(Z, X)",
        nodes: 5_000,
        rows: 50_000,
        fact: edge,
        fixed: |_| Vec::new(),
    },
    Workload {
        name: "generation",
        reference: Some("sg"),
        tables: &[("parent", 2)],
        text: "same(X, Y) <- parent(P, X), parent(P, Y). \
               same(X, Y) <- parent(A, X), same(A, B), parent(B, Y). FIND X, Y WHERE same(X, Y)",
        nodes: 0,
        rows: 1_000,
        fact: |_, number| (0, [(number / 2) as u32, number as u32 + 1, 0]),
        fixed: |_| Vec::new(),
    },
    Workload {
        name: "andersen",
        reference: None,
        tables: &[("new", 2), ("copy", 2), ("load", 2), ("store", 2)],
        text: "pt(V, O) <- new(V, O). pt(V, O) <- copy(V, W), pt(W, O). \
               pt(V, O) <- load(V, W), pt(W, P), pt(P, O). \
               pt(P, O) <- store(V, W), pt(V, P), pt(W, O). FIND V, O WHERE pt(V, O)",
        nodes: 100_000,
        rows: 120_000,
        fact: statement,
        fixed: |_| Vec::new(),
    },
    Workload {
        name: "labels",
        reference: None,
        tables: &[("call", 3), ("back", 3)],
        text: "same(X, Y) <- call(L, X, Z), back(L, Z, Y). \
               same(X, Y) <- call(L, X, A), same(A, B), back(L, B, Y). \
               same(X, Z) <- same(X, Y), same(Y, Z). FIND X, Y WHERE same(X, Y)",
        nodes: 40_000,
        rows: 120_000,
        fact: labelled,
        fixed: |_| Vec::new(),
    },
];

impl Workload {
    /// The workload of that name.
    pub fn by_name(name: &str) -> Workload {
        let found = WORKLOADS.iter().find(|workload| workload.name == name);
        *found.unwrap_or_else(|| panic!("no workload {name}"))
    }

    /// A smaller one, or a larger one.
    pub fn scaled(self, scale: f64) -> Workload {
        let of = |count: u64| (count as f64 * scale).ceil() as u64;
        // What is as wide as it is deep grows by the square.
        let rows = if self.nodes == 0 { of(self.rows).max(100) } else { of(self.rows) };
        Workload { nodes: of(self.nodes), rows, ..self }
    }

    /// What the tables are loaded with.
    pub fn facts(&self) -> Vec<Fact> {
        let changing = (0..self.rows).map(|number| self.fact(number));
        (self.fixed)(self.nodes).into_iter().chain(changing).collect()
    }

    fn fact(&self, number: u64) -> Fact {
        (self.fact)(self.nodes, number)
    }

    /// The changes of one transaction of that size; the next one takes them back.
    pub fn changes(&self, size: u64, turn: u64) -> Vec<(Fact, i64)> {
        let numbers = (0..size).map(|change| turn * size + change + size * 100_000);
        let of =
            |number: u64| [(self.fact(number % self.rows), -1), (self.fact(self.rows + number), 1)];
        numbers.flat_map(of).collect()
    }
}

/// An edge of a random graph.
fn edge(nodes: u64, number: u64) -> Fact {
    let drawn = mix(number * 2 + 1);
    (0, [((drawn >> 32) % nodes) as u32, ((drawn & 0xffff_ffff) % nodes) as u32, 0])
}

/// A statement of a program whose variables belong to functions of twenty: mostly it speaks of two
/// of one function.
fn statement(nodes: u64, number: u64) -> Fact {
    let drawn = mix(number * 2 + 1);
    let left = drawn % nodes;
    let near = left / 20 * 20 + (drawn >> 32) % 20;
    let right = if drawn >> 60 == 0 { mix(drawn) % nodes } else { near.min(nodes - 1) };
    let table = match number % 10 {
        0..3 => 0,
        3..8 => 1,
        8 => 2,
        _ => 3,
    };
    // What is pointed to is a variable, too, near the one that points.
    (table, [left as u32, right as u32, 0])
}

/// A call, or a return to where it came from or elsewhere; each of two hundred labels.
fn labelled(nodes: u64, number: u64) -> Fact {
    let drawn = mix(number / 2 * 2 + 1);
    let label = (drawn % 200) as u32;
    let from = (drawn >> 8) % nodes;
    let into = (from + 1 + (drawn >> 40) % 50) % nodes;
    let (back, skip) = ((from + 1 + (drawn >> 50) % 30) % nodes, (drawn >> 58) % 4);
    match number % 2 {
        0 => (0, [label, from as u32, into as u32]),
        _ => (1, [label, ((into + skip) % nodes) as u32, back as u32]),
    }
}
