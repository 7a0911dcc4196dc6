"""The programs of the I/O baseline: how fio and pg_test_fsync are called, and what they print."""
