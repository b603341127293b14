"""What the server answers: a file for each group of paths."""
