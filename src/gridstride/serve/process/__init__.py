"""The engine in a process of its own, and what the server's process needs to use it and to keep it alive."""
