"""A launch: its shape, and its arguments as the kernel's parameters take them."""
