"""Testing GPU code with pytest, where there is a GPU and where there is none."""
