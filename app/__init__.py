"""pgFooting without its window: everything that is not Qt. Imports no PySide6, no pyqtgraph."""

VERSION = "0.1.0"
COMMAND = "pgfooting"
APPLICATION_ID = "org.pgfooting.Footing"
