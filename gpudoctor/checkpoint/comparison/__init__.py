"""Whether a state dict loads into a model or under another file's names, and if not, why."""
