"""A normalisation layer in training got a single value per channel.

## What happens

"Expected more than 1 value per channel when training, got input size torch.Size([1, 256, 1, 1])", often in the last
step of an epoch, and often on one rank only: the other ranks then wait for it. InstanceNorm says "Expected more than 1
spatial element when training".

## Why

In training these layers divide by the spread of the values, and one value has none:

- The last batch holds one sample: the number of samples of a rank, divided by its batch size, leaves 1.
- The batch per GPU is 1 and the layer follows a global pooling, as in DeepLab's ASPP.
- Validation, a summary of the model or an export runs one sample through a model that is still in training mode.

## How to tell

The first of the sizes in the message is the batch. `len(loader.sampler) % loader.batch_size` is 1 where the last batch
is at fault; the line of your code in the traceback says whether it is validation.

## See also

- [DataLoader](https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.DataLoader): `drop_last`
- [BatchNorm2d](https://docs.pytorch.org/docs/stable/generated/torch.nn.BatchNorm2d.html): mean and variance over the batch
"""

from gpudoctor import Check, Fix, Kind, Severity, Symptom

GOT = r"when training(?:, got input size (?:torch\.Size\()?(?P<size>\[[\d, ]*\]))?"

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        # a batch that DataParallel cut too small is dp-small-batch
        Symptom(
            rf"Expected more than 1 (?:value per channel|spatial element) {GOT}",
            unless=r"in replica \d+ on device \d+",
        ),
        r"\bgives BatchNorm a single value per channel",  # Ultralytics
    ],
    message="a normalisation layer in training got an input[ of size <size>] with a single value per channel, which has no spread",
    fixes=[
        Fix(
            "Leave out the last batch where it is not full",
            "loader = DataLoader(dataset, batch_size=32, sampler=sampler, drop_last=True)",
            Kind.EDIT,
            proof="drop_last=True)",
        ),
        Fix(
            "Leave training mode for validation and summaries",
            "model.eval()\nwith torch.inference_mode():\n    validate(model)\nmodel.train()",
            Kind.EDIT,
        ),
        Fix(
            "With one sample per GPU on purpose: compute the statistics over all ranks",
            "model = torch.nn.SyncBatchNorm.convert_sync_batchnorm(model)\n"
            "model = DistributedDataParallel(model, device_ids=[local_rank])",
            Kind.EDIT,
        ),
        Fix(
            "Or take a layer that does not look at the batch (32 groups must divide the channels)",
            "norm = torch.nn.GroupNorm(32, channels)",
            Kind.EDIT,
        ),
    ],
)
