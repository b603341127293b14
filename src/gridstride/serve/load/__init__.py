"""Load on a server: traffic from a seed, sent as users would, and how long they waited."""
