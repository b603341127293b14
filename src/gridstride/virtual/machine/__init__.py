"""Memory, machine code, warps and blocks: what runs a lowered kernel."""
