"""A checkpoint is read by another program than wrote it: with other wrappers, other devices, another version."""
