-- A script of your own, in pgbench's language: one new row and one read of the accounts.
\set account random(1, 100000 * :scale)
BEGIN;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (1, 1, :account, 0, CURRENT_TIMESTAMP);
SELECT abalance FROM pgbench_accounts WHERE aid = :account;
END;
