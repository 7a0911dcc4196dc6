"""Going on with a campaign that was begun: what is there, what changed since, what is missing."""
