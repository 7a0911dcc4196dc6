"""What is asked around a step: its conditions, the disk it writes to, what was made."""
