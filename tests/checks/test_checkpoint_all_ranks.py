"""checkpoint-all-ranks: seen in logs."""

EXAMPLES = {
    "[rank0]: AssertionError: 2 ranks wrote the same checkpoint": "2 ranks wrote the same checkpoint: they overwrite each other's file while it is written"
}
NOT_THIS = ["1 rank wrote the checkpoint"]
