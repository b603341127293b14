"""The process of a program: started, confined, forked, and what it reports."""
