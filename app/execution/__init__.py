"""Running campaigns: resolved on this machine, run by run through its phases, stopped, recovered."""
