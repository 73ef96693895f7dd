"""seed-same-for-data: seen in logs."""

EXAMPLES = {
    "[rank1]: AssertionError: the ranks draw the same random numbers": "the ranks draw the same random numbers: one seed for all makes their noise and augmentation the same"
}
NOT_THIS = ["the ranks draw other random numbers"]
