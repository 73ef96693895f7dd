"""A collective is given an argument that it does not take.

## What happens

"Invalid function argument. Expected parameter `tensor` of type torch.Tensor but got <class 'float'> instead", or
"Argument ``gather_list`` must be specified on destination rank", at the line that calls `dist.all_reduce`, `gather` or
`scatter`. One rank may raise it alone; the others then wait, until they report a closed connection or a time-out.

## Why

- Collectives send tensors. `loss.item()`, a list or an array of NumPy is none; the calls for other things end in
  `_object` or `_object_list`.
- `gather` and `scatter` have two sides: the list of tensors belongs to the rank that collects or hands out, and all
  other ranks pass `None`.
- `P2POp` takes the functions `dist.isend` and `dist.irecv` themselves, and not what they return.

## How to tell

The last line of your own in the traceback is the call, and the message names the parameter.

## See also

- [gather](https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.gather): gather_list must be specified on the destination rank
- [batch_isend_irecv](https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.batch_isend_irecv): a list of P2POp
"""

from gpudoctor import Check, Fix, Kind, Severity

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        # until torch 2.0 it does not say what it got, and later in the line below
        (
            r"Invalid function argument\. Expected parameter `?(?P<argument>\w+)`? (?:to be )?of type "
            r"(?P<type>(?:List\[)?torch\.Tensor\]?)"
        ),
        r"Argument `{0,2}(?P<list>(?:gather|scatter)_list)`{0,2} must (?:NOT )?be specified on",
        r"(?P<list>gather_tensor) must be specified on the destination rank",
        r"Must provide (?P<list>object_gather_list) on dst rank",
        r"source rank must provide non-None (?P<list>scatter_object_input_list)",
        r"Invalid `{0,2}(?P<operation>op|p2p_op_list)`{0,2}\. E(?:xpected|ach)",
    ],
    message="a collective was given what it does not take[: <argument> must be of type <type>]"
    "[: <list> is for the rank that collects or hands out, and for no other]"
    "[: <operation> is for dist.isend and dist.irecv themselves, in a P2POp]",
    fixes=[
        Fix(
            "Put numbers into a tensor, for NCCL on the rank's GPU",
            "value = torch.tensor(loss)  # for NCCL: device=device\ndist.all_reduce(value)",
            Kind.EDIT,
            proof="dist.all_reduce(value)",
        ),
        Fix(
            "gather and scatter: a list on the rank that collects or hands out, None on the others",
            "first = dist.get_rank() == 0\n"
            "pieces = [torch.empty_like(x) for _ in range(dist.get_world_size())] if first else None\n"
            "dist.gather(x, pieces, dst=0)",
            Kind.EDIT,
            source="https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.gather",
        ),
        Fix(
            "What is no tensor and is small: send it as an object",
            "parts = [None] * dist.get_world_size()\ndist.all_gather_object(parts, names)",
            Kind.EDIT,
            source="https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.all_gather_object",
        ),
    ],
)
