"""A judged kernel as a PyTorch extension of its own: a folder, and a wheel."""
