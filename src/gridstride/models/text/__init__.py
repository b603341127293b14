"""Text to tokens and back, conversations to text."""
