"""The command line: arguments, rendering, exit statuses. The rooms below do the work."""
