\set ON_ERROR_STOP off
\pset null '(null)'
CREATE TABLE people (id int PRIMARY KEY, name text NOT NULL, born date, score numeric(6,2));
\copy people FROM 'people.csv' WITH (FORMAT csv, HEADER, NULL 'NA')
SELECT * FROM people ORDER BY id;
\x on
SELECT name, born FROM people WHERE id = 2;
\x off
\copy (SELECT id, name FROM people ORDER BY id) TO STDOUT WITH (FORMAT csv)
CREATE MATERIALIZED VIEW scores AS SELECT count(*) AS n, sum(score) AS total FROM people;
SELECT * FROM scores;
BEGIN;
INSERT INTO people VALUES (4, 'Dan', NULL, 2) RETURNING id;
SELECT nosuch FROM people;
SELECT 1;
ROLLBACK;
UPDATE people SET score = 0 WHERE score IS NULL;
SELECT * FROM scores \gset
\echo :n :total
SELECT 1/0;
SELECT 'abc'::int
  + 1;
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM people WHERE id = :n;
PREPARE by_id (int) AS SELECT name FROM people WHERE id = $1;
EXECUTE by_id (3);
BEGIN;
DECLARE c CURSOR FOR SUBSCRIBE (SELECT id, name FROM people);
\pset tuples_only on
SELECT count(*) FROM people;
\pset tuples_only off
COMMIT;
DROP TABLE people CASCADE;
SHOW server_encoding;
\encoding
