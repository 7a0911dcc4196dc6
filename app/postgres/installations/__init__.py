"""The PostgreSQL installations of this machine."""
