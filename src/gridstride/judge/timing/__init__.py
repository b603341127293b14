"""How long a kernel takes on a physical GPU, so that a figure can be believed."""
