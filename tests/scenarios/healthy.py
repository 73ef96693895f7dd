"""Healthy machines: modelled on public facts of each kind. On none of them may anything be found above a note."""

from gpudoctor.facts import KernelEvent
from tests.scenarios import machine as models
from tests.scenarios.machine import Machine

TORCHRUN = {
    "RANK": "3",
    "WORLD_SIZE": "8",
    "LOCAL_RANK": "3",
    "LOCAL_WORLD_SIZE": "8",
    "GROUP_RANK": "0",
    "GROUP_WORLD_SIZE": "1",
    "ROLE_RANK": "3",
    "ROLE_NAME": "default",
    "ROLE_WORLD_SIZE": "8",
    "MASTER_ADDR": "127.0.0.1",
    "MASTER_PORT": "29500",
    "TORCHELASTIC_RUN_ID": "none",
    "TORCHELASTIC_RESTART_COUNT": "0",
    "TORCHELASTIC_MAX_RESTARTS": "0",
    "TORCHELASTIC_USE_AGENT_STORE": "True",
    "TORCH_NCCL_ASYNC_ERROR_HANDLING": "1",
    "OMP_NUM_THREADS": "1",
}
SRUN = {
    "SLURM_JOB_ID": "4711",
    "SLURM_PROCID": "9",
    "SLURM_LOCALID": "1",
    "SLURM_NODEID": "1",
    "SLURM_NTASKS": "16",
    "SLURM_NPROCS": "16",
    "SLURM_NNODES": "2",
    "SLURM_JOB_NUM_NODES": "2",
    "SLURM_NTASKS_PER_NODE": "8",
    "SLURM_TASKS_PER_NODE": "8(x2)",
    "SLURM_CPUS_PER_TASK": "16",
    "SLURM_GPUS_ON_NODE": "8",
    "SLURM_JOB_NODELIST": "node[1-2]",
    "CUDA_VISIBLE_DEVICES": "0,1,2,3,4,5,6,7",
}
POD = {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "NVIDIA_VISIBLE_DEVICES": "all"}

# What clouds, images and frameworks set themselves: read by plug-ins, or meant so.
GOOGLE = {
    "NCCL_NET": "gIB",
    "NCCL_TUNER_CONFIG_PATH": "/usr/local/gib/configs/tuner_config_a3u.txtpb",
    "NCCL_SHIMNET_GUEST_CONFIG_CHECKER_CONFIG_FILE": "/usr/local/gib/configs/guest_config.txtpb",
    "NCCL_FASTRAK_CTRL_DEV": "eth0",
    "NCCL_FASTRAK_USE_SNAP": "1",
    "NCCL_CROSS_NIC": "0",
    "NCCL_NET_GDR_LEVEL": "PIX",
    "NCCL_P2P_NET_CHUNKSIZE": "131072",
    "NCCL_NVLS_CHUNKSIZE": "524288",
    "NCCL_IB_ADAPTIVE_ROUTING": "1",
    "NCCL_IB_QPS_PER_CONNECTION": "4",
    "NCCL_IB_TC": "52",
    "NCCL_IB_FIFO_TC": "84",
}
AMAZON = {
    "FI_PROVIDER": "efa",
    "FI_EFA_USE_DEVICE_RDMA": "1",
    "OFI_NCCL_PROTOCOL": "RDMA",
    "NCCL_SOCKET_IFNAME": "^docker,lo,veth",
    "NCCL_DEBUG": "WARN",
    "NCCL_TUNER_PLUGIN": "ofi",
}
MEGATRON = {
    "CUDA_DEVICE_MAX_CONNECTIONS": "1",
    "TORCH_NCCL_AVOID_RECORD_STREAMS": "1",
    "NCCL_NVLS_ENABLE": "0",
    "NVTE_FUSED_ATTN": "1",
    "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True, garbage_collection_threshold:0.8,",
    "TORCH_DISTRIBUTED_DEBUG": "off",
    "TORCH_NCCL_HIGH_PRIORITY": "1",
    "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC": "3600",
    "NCCL_IGNORE_CPU_AFFINITY": "1",
    "NCCL_IB_TIMEOUT": "22",
    "NCCL_IB_RETRY_CNT": "7",
    "NCCL_IB_SL": "1",
    "NCCL_DEBUG": "INFO",
    "NCCL_DEBUG_SUBSYS": "INIT,NET",
    "NCCL_ALGO": "ring,tree;allreduce:^tree",
    "NCCL_PROTO": "^LL128",
    "NCCL_P2P_LEVEL": "NVL",
    "NCCL_BUFFSIZE": " 0x400000 ",
    "NCCL_IB_DISABLE": "0",
    "NCCL_P2P_DISABLE": "0",
    "NCCL_ASYNC_ERROR_HANDLING": "1",
}
IMAGE = {
    "NCCL_VERSION": "2.27.3-1",
    "NVIDIA_VISIBLE_DEVICES": "all",
    "TORCH_HOME": "/models",
    "TORCH_CUDA_ARCH_LIST": "9.0",
    "TORCH_EXTENSIONS_DIR": "/tmp/ext",
    "TORCH_DTYPE": "bf16",
    "NCCL_HOME": "/usr",
    "NCCL_DEBUG": "",
    "CUDA_LAUNCH_BLOCKING": "0",
    "TORCHINDUCTOR_CACHE_DIR": "/tmp/inductor",
    "NCCL_SOCKET_IFNAME": "",
}


def eight(model: models.Model, **more: object) -> Machine:
    """Return a board of eight GPUs."""
    return Machine(models=(model,) * 8, **more)  # type: ignore[arg-type]


HEALTHY: dict[str, Machine] = {
    "laptop-without-gpu": Machine(cpus=8, sockets=1, memory=16, hosts_file="127.0.1.1"),
    "laptop-cpu-build": Machine(cpus=8, sockets=1, memory=16, torch="2.13.0+cpu", cuda=None),
    "cloud-vm-without-gpu": Machine(cpus=4, sockets=1, memory=16, virtual=True),
    "container-without-gpu": Machine(cpus=4, sockets=1, memory=16, container="docker"),
    "wsl-4090": Machine(models=(models.RTX_4090,), cpus=24, sockets=1, memory=64, wsl=True),
    "workstation-4090": Machine(models=(models.RTX_4090,), cpus=24, sockets=1, memory=64),
    "workstation-2x4090": Machine(models=(models.RTX_4090,) * 2, cpus=32, sockets=1, memory=128),
    "workstation-5090": Machine(models=(models.RTX_5090,), cpus=24, sockets=1, memory=64),
    "workstation-2x3090-without-bridge": Machine(
        models=(models.RTX_3090,) * 2, cpus=32, sockets=1, memory=128, bridged=False
    ),
    "workstation-2x3090-bridged": Machine(models=(models.RTX_3090,) * 2, cpus=32, sockets=1, memory=128),
    "workstation-4x2080ti": Machine(
        models=(models.RTX_2080_TI,) * 4, cpus=32, sockets=1, memory=128, bridged=False
    ),
    "workstation-4xa6000": Machine(
        models=(models.RTX_A6000,) * 4, cpus=64, sockets=1, memory=256, bridged=False
    ),
    "server-4xt4": Machine(models=(models.T4,) * 4, cpus=48, memory=192),
    "cloud-t4": Machine(models=(models.T4,), cpus=8, sockets=1, memory=30, virtual=True),
    "cloud-a10": Machine(models=(models.A10,), cpus=30, sockets=1, memory=200, virtual=True),
    "cloud-l4": Machine(models=(models.L4,), cpus=8, sockets=1, memory=32, virtual=True),
    "server-8xl40s": eight(models.L40S),
    "server-8xv100-cuda12": eight(
        models.V100, torch="2.6.0+cu124", cuda="12.4", driver="550.54.15", cuda_driver="12.4"
    ),
    "server-4xa100-pcie": Machine(models=(models.A100_PCIE,) * 4, bridged=False),
    "server-2xh100-pcie-bridged": Machine(models=(models.H100_PCIE,) * 2),
    "board-8xa100": eight(models.A100, infiniband=8),
    "board-8xa100-minor-version": eight(
        models.A100, torch="2.9.1+cu128", cuda="12.8", driver="535.183.01", cuda_driver="12.2", infiniband=8
    ),
    "board-8xh100": eight(models.H100, infiniband=8),
    "board-8xh100-cuda130-driver": eight(models.H100, driver="580.65.06", cuda_driver="13.0"),
    "board-8xh200": eight(models.H200, infiniband=8),
    "board-8xb200": eight(models.B200, infiniband=8, driver="590.48.01", cuda_driver="13.1"),
    "gh200": Machine(models=(models.GH200,), cpus=72, sockets=1, memory=480),
    "cloud-8xh100-efa": eight(models.H100, virtual=True, infiniband=32, efa=True),
    "cloud-8xh100-google": eight(models.H100, virtual=True, infiniband=8, roce=True, variables=GOOGLE),
    "cloud-8xh100-amazon": eight(models.H100, virtual=True, infiniband=32, efa=True, variables=AMAZON),
    "megatron-rank": eight(models.H100, variables={**TORCHRUN, **MEGATRON}, infiniband=8),
    "image-with-variables": eight(models.H100, container="docker", variables=IMAGE),
    "cloud-1xh100-without-fabric": Machine(
        models=(models.H100,), cpus=26, sockets=1, memory=200, virtual=True, fabric=False
    ),
    "gh200-alone": Machine(models=(models.GH200,), cpus=72, sockets=1, memory=480, bridged=False),
    "workstation-2x4090-slots-of-8-lanes": Machine(
        models=(models.RTX_4090,) * 2, cpus=32, sockets=1, memory=128, lanes=8, iommu="DMA-FQ"
    ),
    "board-8xh100-iommu-on": eight(models.H100, iommu="DMA-FQ", infiniband=8),
    "server-4xl4-slots-of-8-lanes": Machine(models=(models.L4,) * 4, cpus=96, memory=384, lanes=8),
    "shared-server-with-a-history": eight(
        models.A100,
        kernel_events=(
            KernelEvent(
                kind="xid",
                code=31,
                pci_address="0000:0a:00.0",
                process="python",
                count=4,
                seconds=90_000.0,
                text="NVRM: Xid (PCI:0000:0a:00): 31, pid=4711, name=python, Ch 00000010, MMU Fault",
            ),
            KernelEvent(
                kind="sxid",
                code=12028,
                pci_address="0000:c0:00.0",
                fatal=False,
                seconds=90_000.0,
                text="nvidia-nvswitch0: SXid (PCI:0000:c0:00.0): 12028, Non-fatal, Link 32 egress error (First)",
            ),
            KernelEvent(
                kind="aer",
                pci_address="0000:0a:00.0",
                count=12,
                seconds=90_000.0,
                text="nvidia 0000:0a:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer",
            ),
            KernelEvent(
                kind="mlx5",
                pci_address="0000:0b:00.0",
                seconds=30.0,
                text="mlx5_core 0000:0b:00.0: Detected insufficient power on the PCIe slot (27W).",
            ),
        ),
    ),
    "cloud-8xa100-roce": eight(models.A100, virtual=True, infiniband=8, roce=True),
    "mig-7-slices": Machine(models=(models.A100,), mig=7, visible=1),
    "container-2-of-8": Machine(models=(models.H100,) * 2, on_bus=8, container="docker"),
    "container-all": eight(models.H100, container="docker"),
    "pod-1-of-8": Machine(models=(models.H100,), on_bus=8, container="kubernetes", variables=POD),
    "pod-8": eight(models.H100, container="kubernetes", variables=POD, infiniband=8),
    "torchrun-rank": eight(models.H100, variables=TORCHRUN),
    "srun-rank": eight(models.H100, variables=SRUN, infiniband=8),
    "srun-one-gpu-per-task": Machine(
        models=(models.A100,),
        on_bus=8,
        variables={**SRUN, "CUDA_VISIBLE_DEVICES": "0", "SLURM_GPUS_PER_TASK": "1"},
    ),
    "srun-torchrun-per-node": eight(
        models.H100,
        variables={
            **SRUN,
            **TORCHRUN,
            "SLURM_NTASKS": "2",
            "SLURM_NPROCS": "2",
            "SLURM_PROCID": "1",
            "SLURM_LOCALID": "0",
            "SLURM_NTASKS_PER_NODE": "1",
            "SLURM_TASKS_PER_NODE": "1(x2)",
            "SLURM_CPUS_PER_TASK": "128",
            "RANK": "11",
            "WORLD_SIZE": "16",
            "GROUP_RANK": "1",
            "GROUP_WORLD_SIZE": "2",
            "ROLE_RANK": "11",
            "ROLE_WORLD_SIZE": "16",
            "MASTER_ADDR": "node1",
            "MASTER_PORT": "29511",
        },
    ),
    "sbatch-shell": eight(
        models.H100, variables={"SLURM_JOB_ID": "1", "SLURM_NNODES": "1", "SLURM_NTASKS": "8"}
    ),
    "four-of-eight-chosen": eight(models.A100, variables={"CUDA_VISIBLE_DEVICES": "4,5,6,7"}, visible=4),
}
