"""Where the time of a PyTorch program goes, read from a trace of the PyTorch profiler; torch itself runs in a child."""
