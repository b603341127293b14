"""Small rooms: kernels that nobody has looked at are compiled and run in a process that can do nothing else."""
