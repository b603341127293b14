"""Compilers and libraries from wheels: source files to objects, objects to a program."""
