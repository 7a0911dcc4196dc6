"""Charts: runs over one time axis. The only importer of pyqtgraph."""
