-- A bitmap heap scan of some 1700 pages at a random place: one of the reads that PostgreSQL 18 does asynchronously.
-- (Its index scans, which pgbench's own scripts do, are as they were.)
\set from random(1, 100000 * :scale - 100000)
SELECT sum(abalance), max(length(filler)) FROM pgbench_accounts WHERE aid BETWEEN :from AND :from + 100000;
