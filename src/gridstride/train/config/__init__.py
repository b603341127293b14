"""What a run is made of, and which values may stand beside which."""
