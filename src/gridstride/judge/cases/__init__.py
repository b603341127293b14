"""Which cases a kernel is run on: sizes, data, addresses and orders, of every class that a verdict must have seen."""
