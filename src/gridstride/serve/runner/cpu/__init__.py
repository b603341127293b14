"""The runner of few tokens on one thread of a CPU: a step of the decoder as machine code made for its shape."""
