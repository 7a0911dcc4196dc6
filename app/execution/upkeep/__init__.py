"""Work on server and storage of a run between and during its phases."""
