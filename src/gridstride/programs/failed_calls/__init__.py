"""Calls of a program that returned an error at which it never looked: which, and of what line."""
