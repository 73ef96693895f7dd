"""ddp-unused-parameters: seen in logs."""

EXAMPLES = [
    "RuntimeError: Expected to have finished reduction in the prior iteration before starting a new one. This error",
    "Parameter indices which did not receive grad for rank 2: 362 363 364",
    "Parameters which did not receive grad for rank 0: head.weight, head.bias",
]
NOT_THIS = [
    "RuntimeError: Expected to mark a variable ready only once. This error is caused by one of the following reasons",
    "find_unused_parameters=True was specified in DDP constructor, but did not find any unused parameters",
]
SAYS = {
    EXAMPLES[1]: "DDP waited on rank 2 for gradients that never came: parameters 362 363 364",
    EXAMPLES[2]: "DDP waited on rank 0 for gradients that never came: head.weight, head.bias",
}
