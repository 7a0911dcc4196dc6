"""Answer `--help` and `--version` of pgfooting before anything is installed, with the standard library alone.

Usage: ``python -P answer_help.py ARGUMENTS...``, with the checkout on the search path.
"""

import sys
import types

try:
    import typing_extensions  # noqa: F401 - only whether it is there
except ImportError:
    marks = types.ModuleType("typing_extensions")
    marks.override = lambda method: method  # type: ignore[attr-defined]
    sys.modules["typing_extensions"] = marks

import app.__main__  # noqa: F401 - answers and ends
