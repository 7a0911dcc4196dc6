"""The wizard without its window: typed texts, their problems, and the resulting campaign."""
