"""What generated machine code and Python agree on: records, address spaces, flags and numbers."""
