//! A server that does the same again and again does not grow, while it looks at itself all the
//! time: views, queries and sessions come and go, rows change, statements fail.
//!
//! `WEIR_FLAT_ROUNDS` sets how often after the first rounds, in which tables of fixed size fill up
//! (CI: 5; an hour is about 3000).

use super::support::weir::Weir;
use super::support::wire::Client;

/// Statements of a round, but for those that make and drop its view.
const STATEMENTS: usize = 120;
/// Rounds until all that is kept of a server's past is full: a thousand statements.
const FIRST_ROUNDS: usize = 10;
/// By how much what is in use may differ from before.
const GROWTH_MAX_BYTES: i64 = 6 << 20;

fn round(client: &mut Client, number: usize) {
    let mut run = |sql: String| drop(client.query(&sql).unwrap());
    run(format!(
        "CREATE MATERIALIZED VIEW passing AS
         SELECT a.n % 10 AS digit, count(*), max(b.m) FROM t a JOIN t b ON a.n = b.m + {number}
         GROUP BY a.n % 10"
    ));
    for step in 0..STATEMENTS / 4 {
        let n = step % 100;
        run(format!("UPDATE t SET m = m + 1 WHERE n = {n}"));
        run(format!("SELECT count(*) FROM t a JOIN t b ON a.n = b.m WHERE a.n > {n}"));
        run(format!("SELECT * FROM t WHERE n = {n}"));
        run("SELECT 1 / 0".to_owned());
    }
    run("DROP MATERIALIZED VIEW passing".to_owned());
}

/// Bytes that are in use: all but the program and what the allocator has free.
fn in_use(mut client: Client) -> i64 {
    std::thread::sleep(std::time::Duration::from_millis(1500));
    let sql = "SELECT sum(CASE component WHEN 'resident' THEN bytes ELSE -bytes END)::int8
        FROM weir_memory WHERE component IN ('resident', 'program', 'free')";
    let rows = client.run(sql).rows(sql);
    rows[0][0].as_ref().unwrap().parse().unwrap()
}

#[test]
fn memory_stays_as_it_is() {
    let rounds = std::env::var("WEIR_FLAT_ROUNDS").map_or(5, |rounds| rounds.parse().unwrap());
    let weir = Weir::start(2);
    let mut client = weir.client();
    client.query("ALTER SYSTEM SET introspection_interval = '100ms'").unwrap();
    client.query("CREATE TABLE t (n int PRIMARY KEY, m int)").unwrap();
    client.query("INSERT INTO t SELECT n, n FROM generate_series(1, 1000) AS n").unwrap();
    client
        .query("CREATE MATERIALIZED VIEW v AS SELECT m % 7 AS k, count(*) FROM t GROUP BY m % 7")
        .unwrap();
    (0..FIRST_ROUNDS).for_each(|number| round(&mut client, number));
    let before = in_use(weir.client());
    for number in 0..rounds {
        round(&mut weir.client(), number);
    }
    let after = in_use(weir.client());
    let growth = after - before;
    assert!(growth < GROWTH_MAX_BYTES, "{before} bytes, after {rounds} rounds {after}");
    assert!(before > 0);
}
