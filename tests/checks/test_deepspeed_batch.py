"""deepspeed-batch: seen in logs."""

EXAMPLES = {
    (
        "ValueError: Please correct the following DeepSpeed config values that mismatch TrainingArguments values:\n"
        "- ds train_batch_size=64 vs hf train_batch_size (calculated)=16"
    ): (
        "DeepSpeed's configuration says train_batch_size=64, and the Trainer's arguments say train_batch_size (calculated)=16"
    ),
    "train_batch_size is not equal to micro_batch_per_gpu * gradient_acc_step * world_size2 != 1 * 1 * 1": (
        "train_batch_size is 2, and 1 samples x 1 steps x 1 rank are 1"
    ),
    (
        "AssertionError: Check batch related parameters. train_batch_size is not equal to micro_batch_per_gpu * "
        "gradient_acc_step * world_size 32 != 4 * 1 * 2"
    ): "train_batch_size is 32, and 4 samples x 1 steps x 2 ranks are 8",
    (
        "[rank0]: AssertionError: Check batch related parameters. train_batch_size is not equal to micro_batch_per_gpu * "
        "gradient_acc_step * world_size\n[rank0]: 256 != 4 * 8 * 1"
    ): "train_batch_size is 256, and 4 samples x 8 steps x 1 rank are 32",
    "AssertionError: Check batch related parameters.": "DeepSpeed's batch sizes are missing, or do not multiply",
    (
        "AssertionError: Check batch related parameters. train_batch_size is not equal to micro_batch_per_gpu * "
        "gradient_acc_step * world_size256 != 4 * 8 * 1"
    ): "train_batch_size is 256, and 4 samples x 8 steps x 1 rank are 32",
    "AssertionError: Micro batch size per gpu: 0 has to be greater than 0": (
        "micro batch size per gpu is not above 0 in DeepSpeed's configuration"
    ),
    "AssertionError: Either train_batch_size or train_micro_batch_size_per_gpu needs to be provided": (
        "DeepSpeed's batch sizes are missing, or do not multiply"
    ),
    (
        "ValueError: Please correct the following DeepSpeed config values that mismatch TrainingArguments values:\n"
        "- ds train_micro_batch_size_per_gpu=1 vs hf per_device_train_batch_size=4\n"
        "The easiest method is to set these DeepSpeed config values to 'auto'."
    ): (
        "DeepSpeed's configuration says train_micro_batch_size_per_gpu=1, and the Trainer's arguments say "
        "per_device_train_batch_size=4"
    ),
    (
        "ValueError: When using DeepSpeed, `accelerate.prepare()` requires you to pass at least one of training or evaluation "
        "dataloaders with `batch_size` attribute returning an integer value"
    ): "accelerate gives DeepSpeed the batch size of a loader, and was given no loader that has one",
    "ValueError: Train batch size must be divisible by micro-batch data parallelism": (
        "train_batch_size is no multiple of the micro batch size times the ranks that share the data"
    ),
}
NOT_THIS = [
    (
        "ValueError: Please correct the following DeepSpeed config values that mismatch TrainingArguments values:\n"
        "- ds fp16.enabled=True vs hf fp16|fp16_full_eval+fp16_backend(amp)=False"
    ),
    "[INFO] train_batch_size = 32, micro_batch_per_gpu = 4, gradient_acc_step = 1, world_size 8",
]
