"""What requests may say, and how their bodies are read."""
