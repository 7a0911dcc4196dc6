"""The manual: chapters of resources/manual, their generated tables, as Markdown and as manual pages. Pure."""
