"""The data on disk, and the disk."""
