"""grad-scaler: seen in logs."""

MESSAGE = "the gradient scaler cannot work"
EXAMPLES = {
    "ValueError: Attemping to unscale fp16 gradients": 'the gradient scaler cannot work: the weights are float16 themselves ("unscale fp16 gradients")',
    "ValueError: Attempting to unscale FP16 gradients.": (
        MESSAGE + ': the weights are float16 themselves ("Attempting to unscale FP16 gradients")'
    ),
    "AssertionError: No inf checks were recorded for this optimizer.": (
        MESSAGE + ': the optimizer saw no gradient ("No inf checks were recorded for this optimizer")'
    ),
    "AssertionError: No inf checks were recorded prior to update.": (
        MESSAGE + ': the optimizer saw no gradient ("No inf checks were recorded prior to update")'
    ),
    "RuntimeError: unscale_() has already been called on this optimizer since the last update().": (
        MESSAGE + ": unscale_() was called twice in one step"
    ),
    "RuntimeError: step() has already been called since the last update().": (
        MESSAGE + ": step() was called twice in one step"
    ),
    "RuntimeError: unscale_() is being called after step().": MESSAGE + ": gradients are clipped after step",
    "AssertionError: Attempted step but _scale is None.  This may indicate your script did not use scaler.scale(loss or outputs) earlier in the iteration.": (
        MESSAGE + ": step came without scaler.scale(loss)"
    ),
}
NOT_THIS = [
    "UserWarning: Detected call of `lr_scheduler.step()` before `optimizer.step()`.",
    "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768",
]
