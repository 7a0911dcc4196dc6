"""What a page of the wizard is, and the help beside it."""
