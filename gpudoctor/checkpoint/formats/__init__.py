"""The containers in which checkpoints come, read into one tree."""
