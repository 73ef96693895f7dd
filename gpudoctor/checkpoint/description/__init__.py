"""What is in a checkpoint: state dicts, optimizers, wrappers, parts of sharded models."""
