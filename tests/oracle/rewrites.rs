//! What must not matter: how many workers there are, which indexes, how changes are cut into
//! transactions, how joins are planned, and whether a rule of the optimizer runs.
//!
//! Two servers get the same statements, and differ in all of that.

use rand::Rng;
use rand::rngs::StdRng;

use crate::answer::{Answer, Verdict, compare};
use crate::is_large;
use crate::planning;
use crate::query::Maker;
use crate::support::weir::Weir;
use crate::support::wire::Client;
use crate::tables;

/// Views that are compared at a time, and groups of changes.
const VIEWS: usize = 6;
const CHANGES: usize = 4;

/// Two servers with the same tables.
pub struct Twins {
    pub plain: Client,
    pub other: Client,
    _servers: [Weir; 2],
    id: i32,
    views: usize,
    pub checks: usize,
}

impl Twins {
    /// Fills both; one has indexes on everything.
    pub fn start(rng: &mut StdRng) -> Twins {
        let servers = [Weir::start(1), Weir::start(3)];
        let (plain, other) = (servers[0].client(), servers[1].client());
        let mut twins = Twins { plain, other, _servers: servers, id: 0, views: 0, checks: 0 };
        tables::schema().iter().for_each(|sql| twins.both(sql));
        for table in tables::TABLES {
            let fill = tables::fill(rng, table, &mut twins.id);
            twins.both(&fill);
            for (column, _, _) in table.columns {
                let sql = format!("CREATE INDEX ON {} ({column})", table.name);
                twins.other.run(&sql).rows(&sql);
            }
        }
        twins
    }

    fn both(&mut self, sql: &str) {
        let (plain, other) = (self.plain.run(sql), self.other.run(sql));
        assert_eq!(plain.error, None, "{sql}");
        assert_eq!(other.error, None, "{sql}");
        assert_eq!(plain.tag, other.tag, "{sql}");
    }

    /// Draws some views, changes what they are over, and says where the servers differ.
    pub fn round(&mut self, rng: &mut StdRng) -> Vec<String> {
        let mut views: Vec<(String, String)> = Vec::new();
        for _ in 0..VIEWS {
            let query = Maker::new(rng).query(1);
            if is_large(&mut self.plain, &query.sql) {
                continue;
            }
            let name = format!("v{}", self.views);
            self.views += 1;
            let settings = self.plan_otherwise(rng);
            let sql = format!("CREATE MATERIALIZED VIEW {name} AS {}", query.sql);
            let (plain, other) = (self.plain.run(&sql), self.other.run(&sql));
            let codes = [&plain, &other]
                .map(|outcome| outcome.error.as_ref().map(|error| error.code().to_string()));
            assert_eq!(codes[0], codes[1], "{settings}; {sql}");
            if codes[0].is_none() {
                views.push((name, format!("/* {settings} */ {}", query.sql)));
            }
        }
        let mut faults = Vec::new();
        for _ in 0..CHANGES {
            self.change(rng);
            faults.extend(views.iter().filter_map(|(name, sql)| self.fault(name, sql)));
        }
        for table in tables::TABLES {
            self.both(&format!("DELETE FROM {}", table.name));
            let fill = tables::fill(rng, table, &mut self.id);
            self.both(&fill);
        }
        for (name, _) in views {
            self.both(&format!("DROP MATERIALIZED VIEW {name}"));
        }
        faults
    }

    /// Sets how the other server plans from now on.
    fn plan_otherwise(&mut self, rng: &mut StdRng) -> String {
        let settings = planning::somehow(rng);
        self.other.run(&settings).rows(&settings);
        settings
    }

    /// The same statements, in one transaction and in one each.
    fn change(&mut self, rng: &mut StdRng) {
        let count = rng.random_range(1..4);
        let statements: Vec<String> =
            (0..count).flat_map(|_| tables::change(rng, &mut self.id)).collect();
        let run = |client: &mut Client, sql: &str| {
            let outcome = client.run(sql);
            assert_eq!(outcome.error, None, "{sql}");
        };
        run(&mut self.plain, "BEGIN");
        for statement in &statements {
            run(&mut self.plain, statement);
            run(&mut self.other, statement);
        }
        run(&mut self.plain, "COMMIT");
    }

    /// How the servers differ in a view, or one in the view and the query asked afresh.
    fn fault(&mut self, name: &str, sql: &str) -> Option<String> {
        self.checks += 1;
        let read = format!("SELECT * FROM {name}");
        let view = Answer::of(self.plain.run(&read));
        for (what, answer) in [
            ("the view of three workers", Answer::of(self.other.run(&read))),
            ("the query, afresh", Answer::of(self.plain.run(sql))),
            ("the query, of three workers", Answer::of(self.other.run(sql))),
        ] {
            if let Verdict::Different(difference) = compare(sql, &answer, &view) {
                return Some(format!("{what}, beside the view (\"PostgreSQL\")\n{difference}"));
            }
        }
        None
    }
}
