"""A website of the labs that a learner has passed, made from what progress holds: no scripts, nothing fetched."""
