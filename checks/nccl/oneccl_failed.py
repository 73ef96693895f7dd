"""oneCCL cannot connect the ranks, or fails in a collective.

## What happens

On Intel's GPUs (backends ccl and xccl), or on processors with the backend ccl, lines with "|CCL_ERROR|" come before the
exception "oneCCL: exec.cpp:134 start_workers: EXCEPTION: failed to start worker # 0", or the process ends without one.

## Why

| what the lines say | what it comes from |
| --- | --- |
| "could not get local_idx/count", "set CCL_ZE_IPC_EXCHANGE=sockets explicitly" | torchrun or accelerate started the ranks, and oneCCL looks for mpirun's variables |
| "fi_getinfo error", "can't find suitable provider", "can not open network providers" | libfabric has no network of the kind that `FI_PROVIDER` names, or may not open it; oneCCL's own libfabric is hidden by another one |
| "error while creating worker thread", "failed to start worker" | it pins a thread of its own to one of the last processors of the node, and this process may not use that one: a container, a job or `taskset` gave it others |
| "init transport failed" | the same as the second, on this rank or on another one |

## How to tell

The first "|CCL_ERROR|" of all ranks, in time, has the cause; those below say what followed. `fi_info -l` lists what
libfabric can use, with the same variables as the training. `CCL_LOG_LEVEL=info` shows what oneCCL chose.

## See also

- [oneCCL: environment variables](https://github.com/uxlfoundation/oneCCL/blob/master/doc/rst/source/env-variables.rst): launchers, ranks of a host, how handles are passed on
- [accelerate#2340](https://github.com/huggingface/accelerate/issues/2340): ranks that were not started by mpirun
- [torch-ccl#54](https://github.com/intel/torch-ccl/issues/54): a worker thread that could not be started
"""

from gpudoctor import Check, Fix, Kind, Severity

PROVIDER = r"fi_getinfo error|can't find suitable provider|can(?:no| no)?t open network providers"
SAID = r"(?:\w[\w.-]{0,40}:\d+ )?\w+: "

check = Check(
    severity=Severity.ERROR,
    follows=["cuda-oom", "thread-limit", "xpu-device-lost"],
    symptoms=[
        r"\|CCL_ERROR\| \S{1,60} (?P<local>getenv_local_coord): ",
        r"(?P<local>to get local_idx/count from ATL), set CCL_ZE_IPC_EXCHANGE",
        rf"\|CCL_ERROR\| .{{0,120}}(?P<provider>{PROVIDER})",
        r"\|CCL_ERROR\| .{0,120}error while creating (?P<worker>worker thread)",
        rf"\|CCL_ERROR\| (?!.{{0,120}}(?:{PROVIDER}|worker thread|getenv_local_coord)){SAID}(?P<said>\S.{{0,120}})",
        rf"\boneCCL: {SAID}EXCEPTION: failed to start (?P<worker>worker)\b",
        rf"\boneCCL: {SAID}EXCEPTION: (?!failed to start worker)(?P<said>\S.{{0,120}})",
    ],
    message="oneCCL failed[: <said>][: it does not know the ranks of this host (<local>)][: no network that libfabric can use (<provider>)]"
    "[: its <worker> could not be started on the processor that it chose]",
    fixes=[
        Fix(
            "Started by torchrun or accelerate (<local>): say in the script, before init_process_group, which rank of the host this is",
            'os.environ["CCL_PROCESS_LAUNCHER"] = "none"\n'
            'os.environ["CCL_LOCAL_SIZE"] = os.environ["LOCAL_WORLD_SIZE"]\n'
            'os.environ["CCL_LOCAL_RANK"] = os.environ["LOCAL_RANK"]',
            Kind.EDIT,
            source="https://github.com/uxlfoundation/oneCCL/blob/master/doc/rst/source/env-variables.rst",
        ),
        Fix(
            "For the <worker>: name processors that this process may use, one for each rank of the host (here 0 and 1, for two)",
            "taskset -cp $$; export CCL_WORKER_AFFINITY=0,1",
            source="https://oneapi-src.github.io/oneCCL/general-configuration/operation-execution.html",
        ),
        Fix(
            "Where it asks for it, or the kernel is older than 5.6: pass the GPUs' handles on by sockets",
            "export CCL_ZE_IPC_EXCHANGE=sockets",
            source="https://github.com/uxlfoundation/oneCCL/blob/master/doc/rst/source/env-variables.rst",
        ),
        Fix(
            "<provider>: see which networks libfabric finds; a variable FI_PROVIDER that names another one is in the way",
            "fi_info -l",
        ),
        Fix(
            "Have oneCCL say what it chose, and look for the first error",
            "export CCL_LOG_LEVEL=info",
            source="https://github.com/uxlfoundation/oneCCL/blob/master/doc/rst/source/env-variables.rst",
        ),
    ],
    no_reproduction="needs oneCCL",
)
