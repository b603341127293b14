"""What is wrong with a result, in words."""
