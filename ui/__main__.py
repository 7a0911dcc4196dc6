"""`python -m ui`: the window."""

import sys

from ui.program.application import run_window

sys.exit(run_window(sys.argv[1:]))
