"""From a kernel file to what its runs leave: compiled, launched, watched."""
