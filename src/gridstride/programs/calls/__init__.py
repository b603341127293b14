"""What a program's runtime asks of the virtual GPU: memory, modules, launches, pools, peers."""
