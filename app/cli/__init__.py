"""The command line: arguments, rendering, exit statuses. Everything it does, app.runs does."""
