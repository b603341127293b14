"""The runner for any device that PyTorch knows."""
