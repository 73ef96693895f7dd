"""A mended copy of a checkpoint."""
