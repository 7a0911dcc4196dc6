"""What is there: disks, their facts, users, signatures and content, read at one moment."""
