"""The pages. Each reads what it shows in the database's thread, then builds elements; none runs a kernel."""
