"""One module for each command of `pgfooting`, with its arguments."""
