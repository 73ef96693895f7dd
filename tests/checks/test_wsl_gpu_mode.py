"""wsl-gpu-mode: seen in logs."""

MESSAGE = "Windows keeps the GPU from WSL: nothing in WSL can use it"
EXAMPLES = {
    "Failed to initialize NVML: GPU access blocked by the operating system": MESSAGE,
    "Failed to properly shut down NVML: GPU access blocked by the operating system": MESSAGE,
    "pynvml.NVMLError_OperatingSystem: The operating system has blocked the request.": MESSAGE,
}
NOT_THIS = [
    "Failed to initialize NVML: Unknown Error",
    "Access to the file was blocked by the operating system",
]
