"""What is written and drawn while a run goes on."""
