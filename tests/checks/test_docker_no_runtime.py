"""docker-no-runtime: seen in logs."""

MESSAGE = "the container engine cannot hand out GPUs"
REASON = ": NVIDIA's Container Toolkit is not installed, or not configured"
EXAMPLES = {
    "2024/03/06 13:45:42 If this is a GPU node, did you configure the NVIDIA Container Toolkit?": MESSAGE
    + REASON,
    "slurmstepd: error: pyxis:     [ERROR] Command not found: nvidia-container-cli, see https://github.com/NVIDIA/libnvidia-container": "the container engine cannot hand out GPUs: NVIDIA's Container Toolkit is not installed, or not configured",
    'Could not select device driver "nvidia" with capabilites: [[compute utility]]': MESSAGE + REASON,
    'docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].': MESSAGE
    + REASON,
    'Error response from daemon: could not select device driver "nvidia" with capabilities: [[gpu compute]]': (
        MESSAGE + REASON
    ),
    "docker: Error response from daemon: unknown or invalid runtime name: nvidia.": MESSAGE + REASON,
    (
        "      Message:      failed to create containerd task: failed to create shim task: OCI runtime create failed: unable to "
        "retrieve OCI runtime error (open /run/k3s/containerd/io.containerd.runtime.v2.task/k8s.io/2f00/log.json: no such file "
        "or directory): fork/exec /usr/bin/nvidia-container-runtime: no such file or directory: unknown"
    ): MESSAGE + REASON,
    "docker: Error response from daemon: Unknown runtime specified nvidia.": MESSAGE + REASON,
    'Error: exec: "nvidia-container-runtime-hook": executable file not found in $PATH: unknown.': MESSAGE
    + REASON,
    "docker: Error response from daemon: failed to inject CDI devices: unresolvable CDI devices nvidia.com/gpu=all": (
        MESSAGE + " (nvidia.com/gpu=all)" + REASON
    ),
    'Failed to create pod sandbox: rpc error: no runtime for "nvidia" is configured': MESSAGE + REASON,
    "error running hook #0: error running hook: exit status 1, stdout: , stderr: Auto-detected mode as 'legacy'": "the container engine cannot hand out GPUs: NVIDIA's Container Toolkit is not installed, or not configured",
    "nvidia-container-cli: mount error: failed to add device rules": "the container engine cannot hand out GPUs: NVIDIA's Container Toolkit is not installed, or not configured",
    "error running hook #0: error running hook: exit status 1, stdout: , stderr: nvidia-container-cli.real: ldcache error: process /sbin/ldconfig failed": "the container engine cannot hand out GPUs: NVIDIA's Container Toolkit is not installed, or not configured",
    "bash: nvidia-docker: command not found": "the container engine cannot hand out GPUs: NVIDIA's Container Toolkit is not installed, or not configured",
}
NOT_THIS = [
    "OCI runtime create failed: fork/exec /usr/bin/kata-runtime: no such file or directory: unknown",
    "docker: Error response from daemon: unknown or invalid runtime name: kata.",
    'could not select device driver "fuse" with capabilities: [[storage]]',
    "nvidia-container-cli: initialization error: nvml error: driver not loaded: unknown",
]
