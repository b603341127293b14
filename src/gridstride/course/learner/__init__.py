"""What one learner has done, kept in one SQLite file, and what comes next."""
