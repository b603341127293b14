"""A modelled timeline of a whole program: which stream did what, when, on which engine of the chip."""
