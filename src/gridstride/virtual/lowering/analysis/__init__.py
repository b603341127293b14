"""What is known of a function before its code is written."""
