"""What the kernel gives: one file for each layer of isolation and for what /proc shows; imports nothing of ours."""
