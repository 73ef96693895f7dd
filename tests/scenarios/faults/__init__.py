"""One module per area, each with a list ``FAULTS``."""
