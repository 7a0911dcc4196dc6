"""Published figures, shown as labelled marks next to the user's own."""
