"""DistributedDataParallel: how a model, its gradients and its data are shared out over the ranks."""
