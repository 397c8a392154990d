"""psycopg 3 against a server on the port that is given: asserts, then says so."""

import datetime
import decimal
import sys
import threading
import time
import uuid

import psycopg
from psycopg import errors
from psycopg.types.json import Jsonb

PORT = int(sys.argv[1])
DSN = f"host=127.0.0.1 port={PORT} user=weir dbname=weir"


def connect(**options):
    return psycopg.connect(DSN, **options)


def expect(error, run):
    try:
        run()
    except error as e:
        return e
    raise AssertionError(f"{error.__name__} expected")


def definitions_and_parameters():
    with connect() as c:
        c.execute(
            "CREATE TABLE typed (id int PRIMARY KEY, b bool, i int8, f float8, n numeric, t text,"
            " y bytea, d date, s timestamp, z timestamptz, u uuid, j jsonb, v interval)"
        )
        zone = datetime.timezone(datetime.timedelta(hours=2))
        row = (
            1,
            True,
            2**40,
            0.1,
            decimal.Decimal("12.30"),
            "héllo 'x'",
            b"\x00\xff",
            datetime.date(2024, 2, 29),
            datetime.datetime(2024, 2, 29, 12, 30, 1, 5),
            datetime.datetime(2024, 2, 29, 12, 30, tzinfo=zone),
            uuid.UUID("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
            Jsonb({"a": [1, None]}),
            datetime.timedelta(days=1, hours=2),
        )
        places = ", ".join(["%s"] * len(row))
        c.execute(f"INSERT INTO typed VALUES ({places})", row)
        got = c.execute("SELECT * FROM typed WHERE id = %s", (1,)).fetchone()
        sent = row[:11] + ({"a": [1, None]},) + row[12:]
        assert got == sent, got
        nothing = c.execute("SELECT %s::text, %s::int", (None, None)).fetchone()
        assert nothing == (None, None), nothing
        with c.cursor() as many:
            many.executemany("INSERT INTO typed (id, t) VALUES (%s, %s)", [(2, "x"), (3, "y")])
            assert many.rowcount == 2, many.rowcount
        named = c.execute("SELECT id AS one, t FROM typed ORDER BY id")
        assert [column.name for column in named.description] == ["one", "t"]
        # More than five times: psycopg prepares it.
        for n in range(8):
            assert c.execute("SELECT %s::int + 1", (n,)).fetchone() == (n + 1,)


def copies():
    with connect() as c:
        c.execute("CREATE TABLE copied (id int, name text)")
        with c.cursor().copy("COPY copied FROM STDIN") as copy:
            for n in range(1000):
                copy.write_row((n, None if n % 10 == 0 else f"name\t{n}"))
        assert c.execute("SELECT count(*), count(name) FROM copied").fetchone() == (1000, 900)
        with c.cursor().copy("COPY (SELECT id, name FROM copied WHERE id < 2 ORDER BY id) TO STDOUT") as copy:
            assert list(copy.rows()) == [("0", None), ("1", "name\t1")]

        def broken():
            with c.cursor().copy("COPY copied FROM STDIN") as copy:
                copy.write("x\ty\n")

        assert expect(errors.InvalidTextRepresentation, broken).sqlstate == "22P02"


def transactions_and_errors():
    with connect() as c:
        c.execute("CREATE TABLE t (id int PRIMARY KEY, v text NOT NULL)")
        c.commit()
        with c.transaction():
            c.execute("INSERT INTO t VALUES (1, 'a')")
        expect(errors.UniqueViolation, lambda: c.execute("INSERT INTO t VALUES (1, 'b')"))
        expect(errors.InFailedSqlTransaction, lambda: c.execute("SELECT 1"))
        c.rollback()
        expect(errors.NotNullViolation, lambda: c.execute("INSERT INTO t VALUES (2, NULL)"))
        c.rollback()
        error = expect(errors.UndefinedColumn, lambda: c.execute("SELECT nosuch FROM t"))
        assert error.diag.statement_position == "8", error.diag.statement_position
        c.rollback()
        expect(errors.DivisionByZero, lambda: c.execute("SELECT 1 / %s", (0,)))
        c.rollback()
        c.execute("INSERT INTO t VALUES (3, 'gone')")
        c.rollback()
        assert c.execute("SELECT id FROM t").fetchall() == [(1,)]


def cancels():
    with connect() as c:
        c.execute("CREATE TABLE quiet (a int)")
        c.commit()
        threading.Timer(0.3, c.cancel).start()
        started = time.monotonic()

        def wait():
            with c.cursor().copy("COPY (SUBSCRIBE quiet) TO STDOUT") as copy:
                list(copy.rows())

        expect(errors.QueryCanceled, wait)
        assert time.monotonic() - started < 5
        c.rollback()
        assert c.execute("SELECT 1").fetchone() == (1,)


def subscribes():
    with connect(autocommit=True) as writer, connect() as reader:
        writer.execute("CREATE TABLE events (kind text, n int)")
        writer.execute(
            "CREATE MATERIALIZED VIEW per_kind AS"
            " SELECT kind, count(*) AS events, sum(n) AS total FROM events GROUP BY kind"
        )
        reader.execute("DECLARE c CURSOR FOR SUBSCRIBE per_kind")
        assert reader.execute("FETCH ALL c WITH (timeout = '0s')").fetchall() == []
        writer.execute("INSERT INTO events VALUES ('x', 1), ('x', 2), ('y', 5)")
        changes = reader.execute("FETCH 2 c WITH (timeout = '10s')").fetchall()
        assert sorted(change[1:] for change in changes) == [(1, "x", 2, 3), (1, "y", 1, 5)], changes
        assert len({change[0] for change in changes}) == 1, "one transaction, one time"
        writer.execute("DELETE FROM events WHERE n = 2")
        later = reader.execute("FETCH 2 c WITH (timeout = '10s')").fetchall()
        assert sorted(change[1:] for change in later) == [(-1, "x", 2, 3), (1, "x", 1, 1)], later
        assert later[0][0] > changes[0][0]


for test in (definitions_and_parameters, copies, transactions_and_errors, cancels, subscribes):
    test()
    print(f"{test.__name__}: ok")
