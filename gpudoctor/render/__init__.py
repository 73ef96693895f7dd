"""Renderings of a report, one file each; they read the model and the facts, and judge nothing."""
