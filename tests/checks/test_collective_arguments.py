"""collective-arguments: seen in logs."""

SAID = "a collective was given what it does not take: "
LIST = " is for the rank that collects or hands out, and for no other"
EXAMPLES = {
    "TypeError: Invalid function argument. Expected parameter `tensor` of type torch.Tensor\n             but got <class 'int'> instead.": (
        SAID + "tensor must be of type torch.Tensor"
    ),
    "RuntimeError: Invalid function argument. Expected parameter `tensor_list` to be of type List[torch.Tensor].": (
        SAID + "tensor_list must be of type List[torch.Tensor]"
    ),
    "ValueError: Argument ``gather_list`` must be specified on destination rank.": f"{SAID}gather_list{LIST}",
    "ValueError: Argument ``scatter_list`` must NOT be specified on non-source ranks.": f"{SAID}scatter_list{LIST}",
    "ValueError: gather_tensor must be specified on the destination rank": f"{SAID}gather_tensor{LIST}",
    "AssertionError: Must provide object_gather_list on dst rank": f"{SAID}object_gather_list{LIST}",
    "ValueError: source rank must provide non-None scatter_object_input_list": (
        f"{SAID}scatter_object_input_list{LIST}"
    ),
    "ValueError: Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or ``torch.distributed.irecv``.": (
        SAID + "op is for dist.isend and dist.irecv themselves, in a P2POp"
    ),
}
NOT_THIS = [
    "ValueError: Invalid function argument. Expected parameter `depth` of type int",
    "TypeError: Argument `shuffle` must be specified on the loader",
]
