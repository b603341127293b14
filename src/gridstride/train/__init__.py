"""Training: data, loop, checkpoints, several processes."""
