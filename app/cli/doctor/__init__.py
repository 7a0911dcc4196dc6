"""`pgfooting doctor` and `manual`."""
