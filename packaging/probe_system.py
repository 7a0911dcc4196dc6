"""Print what the system's Python is and lacks: the version, then ``lacks NAME`` for each missing module.

Run with ``/usr/bin/python3 -I``: the standard library only, and in words that an old Python 3 understands,
because telling that a Python is too old is part of the task.
"""

import importlib.util
import sys

MODULES = ("ensurepip", "gi", "pydbus", "venv")

print(*sys.version_info[:2])
for name in MODULES:
    if importlib.util.find_spec(name) is None:
        print("lacks", name)
