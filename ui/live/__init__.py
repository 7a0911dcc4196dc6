"""The live page: a run that is measured now, or a recorded one that plays as if it were."""
