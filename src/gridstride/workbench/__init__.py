"""The course in a browser: pages, and a queue of runs in processes of their own. `gridstride up` opens it."""
