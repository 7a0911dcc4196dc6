"""The command line: arguments, rendering, exit statuses. What it does, the rooms below do."""
