"""`python -m app` is the command `pgfooting`."""

import sys

from app.cli.main import main

sys.exit(main())
