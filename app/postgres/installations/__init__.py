"""PostgreSQL installations of this machine: where they are and what they are."""
