"""The socket, what comes over it, and whether anybody is still there."""
