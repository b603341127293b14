"""The instructions, a room for each family; `families.py` above finds them by opcode."""
