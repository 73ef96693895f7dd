"""Evidence of the kind "log": which failures a text's lines are symptoms of."""
