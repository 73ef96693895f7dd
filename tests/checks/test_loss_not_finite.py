"""loss-not-finite: seen in logs."""

MESSAGE = "the loss or a gradient is no longer finite: the loss was nan"
EXAMPLES = {
    "ValueError: the predictions are nan at step 4": "the loss or a gradient is no longer finite: the loss was nan",
    "AssertionError: the model's outputs are NaN": "the loss or a gradient is no longer finite: the loss was NaN",
    "Why am I getting nan as loss after the second step": "the loss or a gradient is no longer finite: the loss was nan",
    "训练到第5轮loss变成nan, 学习率是不是太大": MESSAGE,
    "Epoch 0:   2%|2 | 21/1000 [01:31<43:20, v_num=0, train_loss=nan.0, global_step=20.0]": MESSAGE,
    "WARNING:root:NaN or Inf found in input tensor.": "the loss or a gradient is no longer finite: the loss was NaN or Inf",
    "With half precision my loss is always NaN in the second epoch": "the loss or a gradient is no longer finite: the loss was NaN",
    "[Rank 0] step=2000, skipped=1995, lr=[0.001], mom=[0.0]": (
        "the loss or a gradient is no longer finite: 1995 of 2000 steps were skipped"
    ),
    " iteration   12/  100 | consumed samples:  96 | loss scale: 1.0 | grad norm: nan | number of nan iterations:   0 |": (
        MESSAGE
    ),
    "Loss is nan, stopping training": MESSAGE,
    "FloatingPointError: Loss became infinite or NaN at iteration=12!": (
        "the loss or a gradient is no longer finite at iteration 12"
    ),
    "AssertionError: loss become infinite or NaN!": "the loss or a gradient is no longer finite",
    "WARNING: non-finite loss, ending training  tensor([nan, nan, nan, nan], device='cuda:0')": (
        "the loss or a gradient is no longer finite"
    ),
    "RuntimeError: Loss is nan": MESSAGE,
    "FloatingPointError: loss became nan at iter 4, stopping": MESSAGE,
    "train.Diverged: no\nValueError: step 7: loss = nan": MESSAGE,
    "RuntimeError: the training loss has become nan (rank 3)": MESSAGE,
    "AssertionError: the loss of step 12 is not finite": "the loss or a gradient is no longer finite",
    "[rank1]: ValueError: non-finite loss 1e39": "the loss or a gradient is no longer finite",
    '  File "train.py", line 20, in step\n    assert torch.isfinite(loss)\nAssertionError': (
        "the loss or a gradient is no longer finite"
    ),
    "ValueError: The loss returned in `training_step` is nan or inf.": MESSAGE + " or inf",
    "ValueError: The loss returned in `training_step` is tensor(nan, device='cuda:1', grad_fn=<NllLossBackward0>).": (
        "the loss or a gradient is no longer finite: the loss was tensor(nan, device='cuda:1', "
        "grad_fn=<NllLossBackward0>)"
    ),
    "ValueError: Detected nan and/or inf values in `fc.weight`. Check your forward pass for numerically unstable operations.": (
        "the loss or a gradient is no longer finite"
    ),
    "Exception: Current loss scale already at minimum - cannot decrease scale anymore. Exiting run.": (
        "the loss or a gradient is no longer finite"
    ),
    "FloatingPointError: Minimum loss scale reached (0.0001). Your loss is probably exploding.": (
        "the loss or a gradient is no longer finite: the loss scale fell below 0.0001"
    ),
    "AssertionError: Rank 3: found NaN in local grad norm in backward pass before data-parallel communication collective. ": (
        "the loss or a gradient is no longer finite: the loss was NaN"
    ),
    "ValueError: Rank 3: found NaN in local forward loss calculation. Device: 3, node: node0": (
        "the loss or a gradient is no longer finite: the loss was NaN"
    ),
    "RuntimeError: The total norm of order 2.0 for gradients from `parameters` is non-finite, so it cannot be clipped.": (
        "the loss or a gradient is no longer finite"
    ),
    "[rank0]: RuntimeError: Function 'SqrtBackward0' returned nan values in its 0th output.": (
        "the loss or a gradient is no longer finite after SqrtBackward0"
    ),
    "RuntimeError: probability tensor contains either `inf`, `nan` or element < 0": (
        "the loss or a gradient is no longer finite"
    ),
    (
        "ValueError: Expected parameter logits (Tensor of shape (2,)) of distribution Categorical(logits: torch.Size([2])) to "
        "satisfy the constraint IndependentConstraint(Real(), 1), but found invalid values:\ntensor([nan, nan])"
    ): MESSAGE + ", in logits",
    (
        '  File "/venv/lib/python3.10/site-packages/apex/amp/scaler.py", line 176, in unscale_with_stashed\n'
        "ZeroDivisionError: float division by zero"
    ): "the loss or a gradient is no longer finite",
    (
        "[2024-05-01 10:00:00,000] [INFO] [loss_scaler.py:183:update_scale] [deepspeed] OVERFLOW! Rank 0 Skipping step. "
        "Attempted loss scale: 2, reducing to 1"
    ): "the loss or a gradient is no longer finite: the loss scale fell to 1",
    "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 5.960464477539063e-08": (
        "the loss or a gradient is no longer finite: the loss scale fell to 5.960464477539063e-08"
    ),
    "[deepspeed] fp16 dynamic loss scale overflow! Rank 0 Skipping step. Attempted loss scale: 1.0, reducing to 0.5": (
        "the loss or a gradient is no longer finite: the loss scale fell to 0.5"
    ),
    "2020-01-10 10:00:00 | INFO | fairseq.trainer | NOTE: overflow detected, setting loss scale to: 0.0009765625": (
        "the loss or a gradient is no longer finite: the loss scale fell to 0.0009765625"
    ),
    "{'loss': nan, 'grad_norm': nan, 'learning_rate': 1e-05, 'epoch': 0.1}": MESSAGE,
    '{"train_loss": NaN, "epoch": 3}': "the loss or a gradient is no longer finite: the loss was NaN",
    "{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 1.9e-05, 'epoch': 0.02}": MESSAGE,
    "Epoch: [1] [  20/1251] eta: 0:12:00  lr: 0.0001  loss: nan (nan)  time: 0.5": MESSAGE,
    "Epoch 0:  12%|#2        | 12/100 [00:10<01:14,  1.18it/s, v_num=0, train_loss=nan]": MESSAGE,
    "Epoch: [0][10/5005]\tTime 0.3 (0.5)\tLoss nan (nan)\tAcc@1 0.00": MESSAGE,
    " iteration 10/ 500 | lm loss: nan | loss scale: 4096.0 | number of nan iterations: 1 |": MESSAGE,
    "2022-01-01 10:00:00,000 - mmdet - INFO - Epoch [1][50/7330] lr: 1.978e-03, loss_rpn_cls: nan, acc: 0.0": MESSAGE,
    "epoch 3 total_loss = inf": "the loss or a gradient is no longer finite: the loss was inf",
    "step 10 loss: tensor(nan, device='cuda:0')": MESSAGE,
    "FloatingPointError: gradients are Nan/Inf": "the loss or a gradient is no longer finite",
    "NaN loss encountered at step 12, skipping": "the loss or a gradient is no longer finite: the loss was NaN",
    "[Epoch 1/200] [Batch 3/938] D_loss: nan, G_loss: nan": MESSAGE,
    "loss_G: nan loss_D: 0.69": MESSAGE,
    "Training loss : NaN": "the loss or a gradient is no longer finite: the loss was NaN",
    "RuntimeError: Train loss contains a NaN.": ("the loss or a gradient is no longer finite"),
    "RuntimeError: Training failed: NaN persisted for 3 epochs": (
        "the loss or a gradient is no longer finite"
    ),
    "ValueError: watcher: inf/nan detected, aborting as nothing can come of it.": (
        "the loss or a gradient is no longer finite"
    ),
    "Monitored metric val/loss = nan is not finite. Previous best value was 0.7. Signaling Trainer to stop.": "the loss or a gradient is no longer finite: the loss was nan",
    "The loss is NaN: stopping the run": "the loss or a gradient is no longer finite: the loss was NaN",
    "Minimum loss scale (0.0001) reached": "the loss or a gradient is no longer finite: the loss scale fell below 0.0001",
}
NOT_THIS = [
    "[Rank 0] step=20, skipped=18, lr=[0.001], mom=[0.0]",
    "[Rank 0] step=5000, skipped=120, lr=[0.001], mom=[0.0]",
    "[Rank 0] step=5000, skipped=1995, lr=[0.001], mom=[0.0]",
    "| WARNING: overflow detected, setting loss scale to: 1.0",
    "| WARNING: overflow detected, setting loss scale to: 0.25",
    "Epoch 0:   3%|▎ | 565/20101 [2:12:19<76:15:08, 14.05s/it, loss=nan, v_num=, reduced_train_loss=3.910, global_step=564.0]",
    "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 32768.0",
    "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768",
    "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 4294967296, but hysteresis is 2. Reducing hysteresis to 1",
    " iteration 10/ 500 | lm loss: 6.1 | loss scale: 4096.0 | number of skipped iterations: 0 | number of nan iterations: 0 |",
    "Epoch 3: val_loss=nan, best_loss: inf, train_loss=0.31",
    "Epoch 3, Validation loss: nan",
    "Validation - loss: nan",
    "[val] loss: nan, Test: loss nan",
    "val/loss: nan  eval_loss: nan  Best loss: inf  ce_val_loss: nan  lowest loss: inf",
    "{'eval_loss': nan, 'epoch': 1.0}",
    "Minimum loss scale: 0.0001, loss: info, loss: nano, loss: 0.3",
    "ZeroDivisionError: float division by zero",
    '  File "train.py", line 20, in step\n    assert len(batch) == 4\nAssertionError',
    "ValueError: the output size is finite",
    (
        "ValueError: Expected parameter scale (Tensor of shape (2,)) of distribution Normal(loc: 1) to satisfy the constraint "
        "GreaterThan(lower_bound=0.0), but found invalid values:\ntensor([-1.0, 2.0])"
    ),
    "loss_scale: 1.0, terminate_on_nan: False, skip_nan_loss=True, init_loss=None",
]
