"""Healthy machines and the faults that are put into them: what `check` must find, and where it must keep quiet."""
