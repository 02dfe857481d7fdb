"""What must hold when a process is killed at any moment, and when two people decide at once."""
