"""`python -m app` is the command `pgfooting`."""

import gc
import os
import sys

from app.preferences import settle_language
from app.process.account import forget_foreign_folders

forget_foreign_folders(os.environ)
settle_language(os.environ)  # before the first text is imported

from app.cli.main import main  # noqa: E402

gc.set_threshold(200_000)  # Python's 700 takes 7 % of the time of reading hundreds of runs
status = main()
gc.freeze()  # else the last collections look at everything that was read, 6 % of the time
sys.exit(status)
