"""`python -m ui.report`: what `pgfooting report` and `export` of pictures become; needs no display."""

import sys

from ui.report.program import main

sys.exit(main(sys.argv[1:]))
