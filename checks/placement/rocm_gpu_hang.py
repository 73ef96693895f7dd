"""An AMD GPU stopped answering, and the driver reset it.

## What happens

"HW Exception by GPU node-4 (Agent handle: 0x1ebc04e0) reason :GPU Hang", once for each process that used the GPU. Each of
them ends with signal 6, "Aborted", without a Python error, and the rest of the training follows.

## Why

A queue of the GPU made no progress any more, and the amdgpu driver reset it with all that was in it.

- The GPU or its memory is failing: the kernel log has "uncorrectable hardware error" or "Hardware Error" beside the reset.
- The driver, the firmware or ROCm has a fault, mostly in one release; integrated GPUs and cards that ROCm does not
  support hang more often.
- A kernel never ends, or the GPU lost power or its link.

## How to tell

The node's number counts the agents, processors before GPUs: `rocminfo` lists them in that order. Read the kernel log of the
same minute. Always the same GPU, whatever runs, is that GPU; always the same operation is software.

## See also

- [ROCm#4021](https://github.com/ROCm/legacy-rocm-build/issues/4021): hangs of MI300X in training, with what the kernel log says
- [Debugging with HIP](https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/debugging.html): `AMD_SERIALIZE_KERNEL=3` runs one kernel at a time
"""

from gpudoctor import Check, Fix, Kind, Severity

check = Check(
    severity=Severity.ERROR,
    symptoms=[r"HW Exception by GPU node-(?P<node>\d+) .{0,80}\breason ?: ?(?P<reason>GPU Hang)"],
    message="the GPU of ROCm's node <node> hung and was reset, and every process on it ended",
    fixes=[
        Fix(
            "On a cluster, where it is always the same node: leave it out, and send the administrators its name",
            "sbatch --exclude=NODE job.sh",
        ),
        Fix(
            "Run one kernel at a time, so that the last line of the output is near the one that hangs",
            "export AMD_SERIALIZE_KERNEL=3  # then start the training as before",
            source="https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/debugging.html",
        ),
        Fix(
            "See what the driver says of the reset; without root, ask the administrators for these lines",
            "sudo dmesg -T | grep -iE 'amdgpu|hardware error'",
            Kind.ADMIN,
        ),
    ],
    no_reproduction="needs an AMD GPU that hangs",
)
