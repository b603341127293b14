"""One file for each scene: its state on the device, and its picture."""
