"""What a run can tell: counters, findings, how they show."""
