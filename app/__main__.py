"""`python -m app` is the command `pgfooting`."""

import gc
import os
import sys

from app.preferences import settle_language
from app.process.account import forget_foreign_folders

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # numpy's second thread only waits, and burns 0.1 s of CPU with it
forget_foreign_folders(os.environ)
settle_language(os.environ)  # before the first text is imported

from app.cli.main import main  # noqa: E402

gc.set_threshold(200_000)  # Python's 700 takes 7 % of the time of reading hundreds of runs
status = main()
gc.freeze()  # else the last collections look at everything that was read, 6 % of the time
sys.exit(status)
