"""What judges a learner's file: a kernel, a whole program or a filled table."""
