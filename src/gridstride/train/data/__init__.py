"""Text to tokens to batches."""
