"""What went wrong, in words."""
