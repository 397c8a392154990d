//! tokio-postgres: everything in binary.

use std::error::Error as StdError;
use std::time::Duration;

use bytes::Bytes;
use futures::{SinkExt, StreamExt, TryStreamExt, pin_mut};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{FromSql, Type};
use tokio_postgres::{Client, NoTls};

use crate::support::postgres::Postgres;
use crate::support::weir::Weir;

async fn connect(port: u16) -> Client {
    let config = format!("host=127.0.0.1 port={port} user=weir dbname=postgres");
    let (client, connection) = tokio_postgres::connect(&config, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// Any value, as its bytes came.
#[derive(Debug, PartialEq)]
struct Raw(Vec<u8>);

impl<'a> FromSql<'a> for Raw {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Raw, Box<dyn StdError + Sync + Send>> {
        Ok(Raw(raw.to_vec()))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

fn code(error: &tokio_postgres::Error) -> &SqlState {
    error.code().expect("an error of the server")
}

#[tokio::test]
async fn statements_and_parameters() {
    let weir = Weir::start(1);
    let client = connect(weir.port).await;
    client.batch_execute("CREATE TABLE t (id int8 PRIMARY KEY, v text, f float8)").await.unwrap();
    let insert = client.prepare("INSERT INTO t VALUES ($1, $2, $3)").await.unwrap();
    assert_eq!(insert.params(), [Type::INT8, Type::TEXT, Type::FLOAT8]);
    for id in 0..10i64 {
        let v = (id % 3 != 0).then(|| format!("v{id}"));
        let count = client.execute(&insert, &[&id, &v, &(id as f64 / 4.0)]).await.unwrap();
        assert_eq!(count, 1);
    }
    let select = client.prepare("SELECT id, v, f FROM t WHERE id >= $1 ORDER BY id").await.unwrap();
    let columns: Vec<&str> = select.columns().iter().map(|column| column.name()).collect();
    assert_eq!(columns, ["id", "v", "f"]);
    let rows = client.query(&select, &[&8i64]).await.unwrap();
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[1].get::<_, Option<String>>(1), None);
    assert_eq!(rows[1].get::<_, f64>(2), 2.25);
    let sum: i64 = client.query_one("SELECT $1::int8 + $2", &[&1i64, &2i64]).await.unwrap().get(0);
    assert_eq!(sum, 3);
    let bytes: &[u8] = b"\x00\xfe";
    let row = client.query_one("SELECT $1::bytea, $2::bool", &[&bytes, &true]).await.unwrap();
    assert_eq!((row.get::<_, &[u8]>(0), row.get::<_, bool>(1)), (bytes, true));
}

#[tokio::test]
async fn copies_both_ways() {
    let weir = Weir::start(1);
    let client = connect(weir.port).await;
    client.batch_execute("CREATE TABLE t (id int, v text)").await.unwrap();
    let sink = client.copy_in("COPY t FROM STDIN").await.unwrap();
    pin_mut!(sink);
    for n in 0..1000 {
        sink.send(Bytes::from(format!("{n}\tvalue {n}\n"))).await.unwrap();
    }
    assert_eq!(sink.finish().await.unwrap(), 1000);
    let stream = client.copy_out("COPY (SELECT id FROM t WHERE id < 3 ORDER BY id) TO STDOUT");
    let data: Vec<Bytes> = stream.await.unwrap().try_collect().await.unwrap();
    assert_eq!(data.concat(), b"0\n1\n2\n");
    let sink = client.copy_in::<_, Bytes>("COPY t FROM STDIN").await.unwrap();
    drop(sink);
    let count: i64 = client.query_one("SELECT count(*) FROM t", &[]).await.unwrap().get(0);
    assert_eq!(count, 1000, "a copy that was given up leaves nothing");
}

/// A lone statement never fails because of a concurrent one, and a COPY is one.
#[tokio::test]
async fn a_copy_goes_through_beside_others() {
    let weir = Weir::start(1);
    let (client, other) = (connect(weir.port).await, connect(weir.port).await);
    client.batch_execute("CREATE TABLE t (id int PRIMARY KEY, v text)").await.unwrap();
    for (taken, rows) in [(false, 2), (true, 0)] {
        let sink = client.copy_in("COPY t FROM STDIN").await.unwrap();
        pin_mut!(sink);
        sink.send(Bytes::from("5\tcopied\n6\tcopied\n")).await.unwrap();
        // Somebody writes a key that the COPY has found free.
        other.batch_execute("DELETE FROM t; INSERT INTO t VALUES (5, 'other')").await.unwrap();
        if !taken {
            other.batch_execute("DELETE FROM t").await.unwrap();
        }
        match sink.finish().await {
            Ok(count) => assert_eq!((count, taken), (rows, false)),
            Err(error) => assert_eq!((code(&error), taken), (&SqlState::UNIQUE_VIOLATION, true)),
        }
        let count: i64 = other.query_one("SELECT count(*) FROM t", &[]).await.unwrap().get(0);
        assert_eq!(count, if taken { 1 } else { 2 });
    }
}

#[tokio::test]
async fn transactions_and_errors() {
    let weir = Weir::start(1);
    let mut client = connect(weir.port).await;
    client.batch_execute("CREATE TABLE t (id int PRIMARY KEY)").await.unwrap();
    let transaction = client.transaction().await.unwrap();
    transaction.execute("INSERT INTO t VALUES (1)", &[]).await.unwrap();
    transaction.commit().await.unwrap();
    let transaction = client.transaction().await.unwrap();
    let error = transaction.execute("INSERT INTO t VALUES (1)", &[]).await.unwrap_err();
    assert_eq!(code(&error), &SqlState::UNIQUE_VIOLATION);
    let error = transaction.query("SELECT 1", &[]).await.unwrap_err();
    assert_eq!(code(&error), &SqlState::IN_FAILED_SQL_TRANSACTION);
    transaction.rollback().await.unwrap();
    let error = client.prepare("SELECT * FROM nosuch").await.unwrap_err();
    assert_eq!(code(&error), &SqlState::UNDEFINED_TABLE);
    let error = client.query("SELECT 1 / $1::int4", &[&0i32]).await.unwrap_err();
    assert_eq!(code(&error), &SqlState::DIVISION_BY_ZERO);
    // A portal that is read in pieces.
    let transaction = client.transaction().await.unwrap();
    for id in 2..12i32 {
        transaction.execute("INSERT INTO t VALUES ($1)", &[&id]).await.unwrap();
    }
    let portal = transaction.bind("SELECT id FROM t ORDER BY id", &[]).await.unwrap();
    let mut seen = Vec::new();
    loop {
        let rows = transaction.query_portal(&portal, 4).await.unwrap();
        if rows.is_empty() {
            break;
        }
        seen.extend(rows.iter().map(|row| row.get::<_, i32>(0)));
    }
    assert_eq!(seen, (1..12).collect::<Vec<_>>());
    transaction.commit().await.unwrap();
}

#[tokio::test]
async fn subscribes_and_cancels() {
    let weir = Weir::start(1);
    let (client, writer) = (connect(weir.port).await, connect(weir.port).await);
    writer.batch_execute("CREATE TABLE t (id int PRIMARY KEY)").await.unwrap();
    let stream = client.copy_out("COPY (SUBSCRIBE t) TO STDOUT").await.unwrap();
    pin_mut!(stream);
    writer.batch_execute("INSERT INTO t VALUES (7)").await.unwrap();
    let change = tokio::time::timeout(Duration::from_secs(10), stream.next()).await.unwrap();
    let change = String::from_utf8(change.unwrap().unwrap().to_vec()).unwrap();
    assert_eq!(change.split_once('\t').unwrap().1, "1\t7\n");
    client.cancel_token().cancel_query(NoTls).await.unwrap();
    let end = tokio::time::timeout(Duration::from_secs(10), stream.next()).await.unwrap();
    assert_eq!(code(&end.unwrap().unwrap_err()), &SqlState::QUERY_CANCELED);
    let one: i32 = client.query_one("SELECT 1", &[]).await.unwrap().get(0);
    assert_eq!(one, 1);
}

/// A value of each type, whose binary form has to be PostgreSQL's own.
const VALUES: &[&str] = &[
    "true",
    "5::int2",
    "-5::int4",
    "1099511627776::int8",
    "1.5::float4",
    "'NaN'::float8",
    "0::numeric",
    "-12345.6700::numeric",
    "1e30::numeric",
    "0.00001234::numeric",
    "'NaN'::numeric",
    "'-Infinity'::numeric",
    "'héllo'::text",
    "'ab'::varchar(5)",
    "'ab'::char(5)",
    "'\\x00ff'::bytea",
    "date '2024-02-29'",
    "date '0044-03-15 BC'",
    "date 'infinity'",
    "time '13:45:30.5'",
    "timestamp '1999-12-31 23:59:59.999999'",
    "timestamptz '2024-02-29 12:00+02'",
    "interval '1 year 2 months 3 days -04:05:06.7'",
    "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid",
    "'{\"b\": [1, null, \"x\"], \"a\": 1.50}'::jsonb",
    "26::oid",
    "'n'::name",
    "NULL::int4",
];

#[tokio::test]
async fn binary_forms_are_those_of_postgresql() {
    let Some(postgres) = Postgres::start_if_installed() else { return };
    let weir = Weir::start(1);
    let (ours, theirs) = (connect(weir.port).await, connect(postgres.port).await);
    for value in VALUES {
        let sql = format!("SELECT {value} AS v");
        let row = |row: tokio_postgres::Row| {
            (row.columns()[0].type_().clone(), row.get::<_, Option<Raw>>(0))
        };
        let expected = row(theirs.query_one(&sql, &[]).await.unwrap());
        match ours.query_one(&sql, &[]).await {
            Ok(answer) => assert_eq!(row(answer), expected, "{sql}"),
            Err(error) => panic!("{sql}: {error:?}"),
        }
    }
}
