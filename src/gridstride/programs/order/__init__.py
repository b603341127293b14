"""What a program's work orders: who comes before whom, and who uses the same bytes in no order."""
