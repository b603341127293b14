"""What the observed build looks for: races, uninitialised reads, missing fences and waits."""
