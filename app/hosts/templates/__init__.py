"""Data sets that are made once and copied for each run: kept on a disk that is not under test."""
