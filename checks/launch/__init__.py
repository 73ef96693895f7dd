"""A launcher tells each process its rank, where to meet and which GPU is its own; the machine sets limits to all."""
