"""Pickles, understood without running them, and written again."""
