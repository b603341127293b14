"""Loads, stores, atomics, copies, textures, barriers in memory."""
