"""A fixed copy of a checkpoint."""
