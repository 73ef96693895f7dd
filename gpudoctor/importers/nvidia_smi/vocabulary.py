"""NVML's words, as facts have them, by the words that nvidia-smi prints for them."""

from gpudoctor.facts.gpu import THROTTLE_REASONS

COMPUTE_MODES = {
    "default": "default",
    "e.process": "exclusive_process",
    "exclusive_process": "exclusive_process",
    "e.thread": "exclusive_thread",
    "exclusive_thread": "exclusive_thread",
    "prohibited": "prohibited",
}

DRIVER_MODELS = ("WDDM", "TCC", "MCDM")
"""Of Windows."""

THROTTLE_WORDS = {name: name for name in THROTTLE_REASONS} | {
    "idle": "gpu_idle",
    "display_clocks_setting": "display_clock_setting",
}

RECOVERY_ACTIONS = {
    "none": "none",
    "reset": "gpu_reset",
    "gpu reset": "gpu_reset",
    "reboot": "node_reboot",
    "drain p2p": "drain_p2p",
    "drain and reset": "drain_and_reset",
}


FABRIC_HEALTH = {
    "bandwidth": "degraded_bandwidth",
    "route_recovery_in_progress": "route_recovery",
    "route_unhealthy": "route_unhealthy",
    "access_timeout_recovery": "access_timeout_recovery",
}
