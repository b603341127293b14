"""What the observed build adds to a kernel: counting, and values that are followed."""
