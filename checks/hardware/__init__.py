"""The GPUs themselves, their memory, and the links between them: what no program can repair."""
