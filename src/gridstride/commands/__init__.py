"""One file for each command of the command line; each has `run`, which returns whether what it judged passed."""
