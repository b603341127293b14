"""Control flow and data flow of PTX functions."""
