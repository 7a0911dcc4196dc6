"""What all of the helper uses: its folders, its configuration, the system's log."""
