"""Optimisers, learning rates, precision."""
