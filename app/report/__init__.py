"""What a report says: text, tables and figures as data. Nothing here paints."""
