"""PostgreSQL servers that this machine's distribution does not have, made once and kept outside the tree."""
