"""Addresses: bounds, distributed shared memory, malloc, reductions, printf's records."""
