"""PostgreSQL's own programs: installations, initdb and server, pgbench and its output formats."""
