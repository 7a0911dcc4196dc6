"""What commands share: errors as exit statuses, tables, progress, questions to a person."""
