"""Formats of foreign files: outputs and logs of pgbench, server logs, tables, texts of tools."""
