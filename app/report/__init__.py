"""Compose a report as data: text, tables and figures. Nothing here paints."""
