"""PTX text to a typed module."""
