"""Decoders of the families in families.py, on ops that are called by name."""
