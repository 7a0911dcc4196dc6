"""Execute plans: as this user (local), by the root helper, or on a server that already runs."""
