"""The edges of every program: log, exit statuses, standard streams, harmless text."""
