"""An Intel GPU stopped answering, and the driver reset it.

## What happens

"level_zero backend failed with error: 20 (UR_RESULT_ERROR_DEVICE_LOST)" is raised where the program next waits for the GPU:
in `backward()`, `torch.xpu.synchronize()`, a copy to the host. Whatever the same process then does with any GPU fails too,
often with other numbers.

## Why

The kernel's driver, xe or i915, reset an engine of the GPU that made no progress, and what ran on it is lost.

- A kernel never ended, or two ranks waited for each other's copies. Seen in the first backward pass of DistributedDataParallel
  on two Arc GPUs.
- The driver, its firmware or the compute runtime has a fault, mostly in one release.
- The GPU, its link or its power fails.

## How to tell

`sudo dmesg -T | grep -iE 'xe|i915'` of the same minute: "Engine reset", "Timedout job", "GPU HANG". Always the same GPU,
whatever runs, is that GPU; always the same operation is software. If one GPU alone trains well and two do not, it is in
what they exchange.

## See also

- [torch-xpu-ops#5164](https://github.com/intel/torch-xpu-ops/issues/5164): in the first steps of a training on two GPUs, with the kernel's lines
- [compute-runtime#944](https://github.com/intel/compute-runtime/issues/944): the same under sustained load, with the kernel's lines
- [compute-runtime#966](https://github.com/intel/compute-runtime/issues/966): resets of an Arc Pro B70 that release 26.35 of the runtime ended
"""

from gpudoctor import Check, Fix, Kind, Severity

check = Check(
    severity=Severity.ERROR,
    symptoms=[r"\b(?P<error>(?:UR|ZE|PI)_(?:RESULT_)?ERROR_DEVICE_LOST)\b"],
    message="an Intel GPU was reset while it worked (<error>), and the process cannot use it any more",
    fixes=[
        Fix(
            "On a cluster, where it is always the same node: leave it out, and send the administrators its name",
            "sbatch --exclude=NODE job.sh",
        ),
        Fix(
            "See whether one GPU alone trains: if so, look at what the ranks exchange",
            "torchrun --nproc-per-node=1 train.py",
        ),
        Fix(
            "See what the driver says of the reset; without root, ask the administrators for these lines",
            "sudo dmesg -T | grep -iE 'xe |i915|drm'",
            Kind.ADMIN,
        ),
        Fix(
            "Install the newest compute runtime: 26.35 ended such resets of Arc Pro B70 cards for some",
            "sudo apt install libze-intel-gpu1 intel-opencl-icd",
            Kind.ADMIN,
            source="https://github.com/intel/compute-runtime/issues/966",
        ),
    ],
    no_reproduction="needs an Intel GPU that fails",
)
