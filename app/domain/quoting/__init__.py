"""Texts of others in what a person pastes: nothing in them is obeyed there."""
