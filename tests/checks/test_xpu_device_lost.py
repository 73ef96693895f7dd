"""xpu-device-lost: seen in logs."""

MESSAGE = "an Intel GPU was reset while it worked ({}), and the process cannot use it any more"
EXAMPLES = {
    "RuntimeError: level_zero backend failed with error: 20 (UR_RESULT_ERROR_DEVICE_LOST)": MESSAGE.format(
        "UR_RESULT_ERROR_DEVICE_LOST"
    ),
    "RuntimeError: Native API failed. Native API returns: -20 (PI_ERROR_DEVICE_LOST) -20 (PI_ERROR_DEVICE_LOST)": (
        MESSAGE.format("PI_ERROR_DEVICE_LOST")
    ),
    "[rank1]: oneCCL: ze_primitives.cpp: ZE_RESULT_ERROR_DEVICE_LOST": MESSAGE.format(
        "ZE_RESULT_ERROR_DEVICE_LOST"
    ),
}
NOT_THIS = [
    "RuntimeError: level_zero backend failed with error: 39 (UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY)",
    "RuntimeError: level_zero backend failed with error: 40 (UR_RESULT_ERROR_OUT_OF_RESOURCES)",
    "VK_ERROR_DEVICE_LOST",
]
