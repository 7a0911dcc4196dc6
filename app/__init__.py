"""pgFooting without its window: everything that is not Qt. Imports no PySide6, no pyqtgraph."""

from pathlib import Path

VERSION = "0.1.0"
COMMAND = "pgfooting"
APPLICATION_ID = "org.pgfooting.Footing"

TOP = Path(__file__).resolve().parents[1]
"""The folder with `app`, `ui` and `resources`."""
