"""`python -m gridstride`."""

from gridstride.cli import main

main()
