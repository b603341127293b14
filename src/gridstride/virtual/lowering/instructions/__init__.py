"""The instructions, a file for each family; dispatch.py says which function writes which opcode."""
