"""Integers, floats, conversions, moves."""
