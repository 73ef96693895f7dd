"""Processes that training starts, and what they run out of."""
