"""`python -m ui`: the window."""

import os
import sys

from app.preferences import settle_language
from app.process.account import forget_foreign_folders

forget_foreign_folders(os.environ)
settle_language(os.environ)  # before the first text is imported

from ui.program.application import run_window  # noqa: E402

sys.exit(run_window(sys.argv[1:]))
