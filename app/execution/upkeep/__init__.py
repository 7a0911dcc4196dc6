"""What is done with server and storage of a run between its phases and beside them."""
