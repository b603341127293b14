"""Global memory, the device heap, textures, and their shadows, as the host keeps them."""
