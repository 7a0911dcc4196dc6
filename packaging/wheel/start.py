"""`python -m pgfooting` is the command `pgfooting`."""

from pgfooting import main

main()
