"""What every program does at its edges: log, exit statuses, standard streams, harmless text."""
