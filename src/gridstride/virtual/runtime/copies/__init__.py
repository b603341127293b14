"""Asynchronous copies, tensor copies, mbarriers and matrix descriptors."""
