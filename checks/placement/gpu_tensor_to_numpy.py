"""A tensor on the GPU is handed to NumPy.

## What happens

"TypeError: can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.", mostly in
the evaluation, in a metric of scikit-learn or in a plot. In older releases "can't convert CUDA tensor to numpy".

## Why

NumPy reads the host's memory, and the numbers are on the GPU. `np.asarray(tensor)`, `np.mean(list_of_tensors)`, matplotlib and
scikit-learn ask for the same without naming it. On a machine without a GPU the script runs.

## How to tell

The last frame of your own in the traceback is the place; `print(x.device)` there says `cuda:0`.

## See also

- [Tensor.numpy](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.numpy.html): what it takes, and `force`
- [fast-reid#509](https://github.com/JDAI-CV/fast-reid/pull/509): the message, and the same repair
"""

from gpudoctor import Check, Fix, Kind, Severity

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        r"can't convert (?P<device>cuda:\d+|CUDA|xpu:\d+|mps:\d+) (?:device type )?tensor to numpy",
    ],
    message="a tensor on <device> is given to NumPy, which reads the host's memory alone",
    fixes=[
        Fix(
            "Copy it to the host first",
            "outputs.detach().cpu().numpy()",
            Kind.EDIT,
            proof="detach().cpu().numpy()",
        ),
        Fix(
            "A list of losses or outputs: take numbers or copies as they come, and NumPy at the end",
            "losses.append(loss.detach())\nmean = torch.stack(losses).mean().item()",
            Kind.EDIT,
        ),
    ],
)
