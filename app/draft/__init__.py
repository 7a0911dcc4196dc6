"""The wizard without its window: what was typed, what is wrong with it, and the campaign that it makes."""
