"""What computes a step."""
