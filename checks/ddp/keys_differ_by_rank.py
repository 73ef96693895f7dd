"""The ranks have different entries in a dictionary that they sum up together.

## What happens

OpenMMLab (mmdet, mmengine, mmseg) says "loss log variables are different across GPUs!", and each rank its own "len(log_vars):
3 keys: ...". Elsewhere the ranks sum entry after entry without looking: one of them waits for ever, or two entries of one
size are added up that do not belong together, and the log shows wrong numbers.

## Why

A loop of `all_reduce` over a dictionary needs the same keys in the same order on all ranks. They differ where a batch
decides: no object in the images of one rank, so a branch adds no loss; a metric that is logged for some samples only; a
task that is drawn by chance.

## How to tell

`print(rank, sorted(losses))` in the step that fails, on all ranks; the missing key names the branch.

## See also

- [mmdetection#6495](https://github.com/open-mmlab/mmdetection/issues/6495): one rank logs fewer values, the rest wait
- [all_reduce](https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.all_reduce): one tensor, reduced over all ranks
"""

from gpudoctor import Check, Fix, Kind, Severity, Symptom

HEAD = r"loss log variables are different across GPUs"
KEYS = r"rank (?P<rank>\d+) len\(log_vars\): (?P<count>\d+) keys: (?P<keys>[\w.,/ -]{1,300})"

check = Check(
    severity=Severity.ERROR,
    symptoms=[Symptom(HEAD, near=KEYS), Symptom(HEAD, unless=KEYS)],
    message="the ranks have different losses to sum up[: rank <rank> has <count>, namely <keys>]",
    fixes=[
        Fix(
            "Return every loss in every step; where a branch has nothing to do, 0 times its parameters, for which DDP waits",
            "nothing = sum(p.sum() for p in self.mask_head.parameters()) * 0\n"
            'losses["mask"] = mask_loss(masks) if len(masks) else nothing',
            Kind.EDIT,
        ),
        Fix(
            "What is only logged: gather the dictionaries, and average what is there",
            "parts = [None] * dist.get_world_size()\ndist.all_gather_object(parts, metrics)\n"
            "keys = sorted({key for part in parts for key in part})\n"
            "means = {key: statistics.mean(part[key] for part in parts if key in part) for key in keys}",
            Kind.EDIT,
        ),
    ],
)
