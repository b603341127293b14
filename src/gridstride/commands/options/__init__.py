"""Which words a command takes."""
