"""`python -m ui`: the window."""

import sys

from ui.application import run_window

sys.exit(run_window(sys.argv[1:]))
