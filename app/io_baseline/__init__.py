"""Arguments and output of the I/O baseline's programs, fio and pg_test_fsync."""
