"""Reads of memory that nothing has written, by kind of memory."""
