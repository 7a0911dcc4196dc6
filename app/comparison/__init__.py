"""Several runs compared: one cut for all, what differs, verdicts, what weakens them, table and figures."""
