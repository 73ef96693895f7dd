"""Variables that nobody reads, that are read as another value, or that cost or hide something."""

from gpudoctor.facts import ConfigurationFile, NcclConfiguration, Raised, Variables
from gpudoctor.snapshot import Snapshot
from tests.scenarios.fault import Change, Fault, both, edit, put, variables

BOARD = "board-8xh100"


def conf(path: str = "/etc/nccl.conf", without: list[int] | None = None, **settings: str) -> Change:
    """Write one of NCCL's configuration files; a dash in a name stands for a blank."""
    plain = {name.replace("__", " "): value for name, value in settings.items()}
    return put(
        nccl_configuration=NcclConfiguration(
            files=[ConfigurationFile(path=path, settings=plain, without_equals=without or [])]
        )
    )


def found(
    name: str, expect: str, says: str = "", on: str = BOARD, note: bool = False, **values: str
) -> Fault:
    """Return a fault of a variable's value."""
    return Fault(f"variable-{name}", on, variables(**values), expect, note=note, says=says)


def older_nccl(*without: str) -> Change:
    """Take names out of the libraries."""

    def change(snapshot: Snapshot) -> Snapshot:
        known = snapshot.facts["variables"]
        assert isinstance(known, Variables)
        libraries = [
            type(library)(
                path=library.path,
                version=library.version,
                names=[n for n in library.names if not n.startswith(without)],
            )
            for library in known.libraries
        ]
        return edit("variables", libraries=libraries)(snapshot)

    return change


UNKNOWN = "nccl-variable-unknown"
REMOVED = "nccl-variable-removed"
LEFT = "nccl-workaround-left"
DEBUG = "debug-variable-left"
DANGEROUS = "variable-dangerous"

FAULTS = [
    found("iface", UNKNOWN, "NCCL_SOCKET_IFNAME", NCCL_SOCKET_IFACE="eth0"),
    found("interface", UNKNOWN, "NCCL_SOCKET_IFNAME", NCCL_SOCKET_INTERFACE="eth0"),
    found("debugg", UNKNOWN, "is NCCL_DEBUG", NCCL_DEBUGG="INFO"),
    found("prefix", UNKNOWN, "is NCCL_DEBUG", NCLL_DEBUG="INFO"),
    found("order", UNKNOWN, "NCCL_P2P_DISABLE", NCCL_DISABLE_P2P="1"),
    found("opposite", UNKNOWN, "NCCL_IB_DISABLE is, and says the opposite", NCCL_IB_ENABLE="0"),
    found("word-missing", UNKNOWN, "NCCL_IB_GID_INDEX", NCCL_GID_INDEX="3"),
    found("timeout", UNKNOWN, "init_process_group(timeout=", NCCL_TIMEOUT="3600"),
    found(
        "torch-heartbeat", UNKNOWN, "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC", NCCL_HEARTBEAT_TIMEOUT_SEC="1800"
    ),
    found(
        "torch-handling",
        UNKNOWN,
        "TORCH_NCCL_ASYNC_ERROR_HANDLING",
        TORCH_NCCL_ASYNC_ERROR_HANDELING="1",
        on="torchrun-rank",
    ),
    found("gloo", UNKNOWN, "GLOO_SOCKET_IFNAME", GLOO_SOCKET_IFACE="eth0", on="cloud-vm-without-gpu"),
    found("torch-stacktrace", UNKNOWN, "TORCH_SHOW_CPP_STACKTRACES", TORCH_SHOW_CPP_STACKTRACE="1"),
    found("no-such-thing", UNKNOWN, "plug-in", NCCL_FOO_BAR="1", note=True),
    found("newer-than-torch", UNKNOWN, "TORCH_NCCL_TRACE_BUFFER_SIZE", TORCH_FR_BUFFER_SIZE="2000",
          on="server-8xv100-cuda12"),
    found("true", UNKNOWN, "here that is 0", NCCL_IB_DISABLE="true"),
    found("enable-true", UNKNOWN, "here that is 0", NCCL_NVLS_ENABLE="True"),
    found("quoted", UNKNOWN, "here that is 0", NCCL_P2P_DISABLE='"1"'),
    found("suffix", UNKNOWN, "here that is 4", NCCL_BUFFSIZE="4M"),
    found("retry-range", UNKNOWN, "from 0 to 7", NCCL_IB_RETRY_CNT="20"),
    found("threads", UNKNOWN, "multiples of 32", NCCL_NTHREADS="100"),
    found("debug-word", UNKNOWN, "prints nothing at all", NCCL_DEBUG="VERBOSE"),
    found("subsystem", UNKNOWN, "no subsystem FOO", NCCL_DEBUG="WARN", NCCL_DEBUG_SUBSYS="INIT,FOO"),
    found("level-small", UNKNOWN, "in capitals", NCCL_P2P_LEVEL="nvl"),
    found("gdr-level", UNKNOWN, "ignores another word", NCCL_NET_GDR_LEVEL="ALL"),
    found("algorithm", UNKNOWN, "no Rings", NCCL_ALGO="Rings"),
    found("protocol", UNKNOWN, "no LL64", NCCL_PROTO="LL64"),
    found("family", UNKNOWN, "AF_INET", NCCL_SOCKET_FAMILY="ipv4"),
    found("caret-twice", UNKNOWN, "'^lo'", NCCL_SOCKET_IFNAME="^docker0,^lo"),
    found("adapter-blank", UNKNOWN, "' mlx5_1'", NCCL_IB_HCA="mlx5_0, mlx5_1"),
    Fault(
        "variable-distributed-debug",
        "cloud-vm-without-gpu",
        variables(TORCH_DISTRIBUTED_DEBUG="VERBOSE"),
        UNKNOWN,
        says="OFF, INFO or DETAIL",
    ),
    Fault(
        "variable-distributed-debug-import",
        "laptop-without-gpu",
        both(
            variables(TORCH_DISTRIBUTED_DEBUG="ON"),
            edit(
                "torch",
                imported=False,
                version=None,
                cuda=None,
                error=Raised(
                    type="ValueError",
                    message="The value of TORCH_DISTRIBUTED_DEBUG must be OFF, INFO, or DETAIL.",
                ),
            ),
            put(torchvision=None),
        ),
        UNKNOWN,
        says="import torch",
    ),
    found("torch-switch", UNKNOWN, "1 and 0 alone", TORCH_NCCL_BLOCKING_WAIT="on"),
    found("torch-number", UNKNOWN, "int()", TORCH_FR_BUFFER_SIZE="2k"),
    Fault(
        "variable-conf-unknown",
        BOARD,
        conf(NCCL_SOCKET_IFACE="eth0"),
        UNKNOWN,
        says="NCCL_SOCKET_IFACE=eth0 in /etc/nccl.conf",
    ),
    Fault("variable-conf-export", BOARD, conf(export__NCCL_DEBUG="WARN"), UNKNOWN, says="NAME=VALUE"),
    Fault("variable-conf-blank", BOARD, conf(**{"NCCL_IB_HCA ": " mlx5"}), UNKNOWN, says="'NCCL_IB_HCA '"),
    Fault("variable-conf-line", BOARD, conf(without=[3]), UNKNOWN, note=True, says="line 3"),
    Fault(
        "variable-conf-missing",
        BOARD,
        variables(NCCL_CONF_FILE="/home/me/nccl.conf"),
        UNKNOWN,
        says="no such file",
    ),
    found("tree-threshold", REMOVED, "NCCL_ALGO", NCCL_TREE_THRESHOLD="0"),
    found("ll-threshold", REMOVED, "NCCL_PROTO", NCCL_LL_THRESHOLD="16384"),
    found("ib-cuda", REMOVED, "NCCL_NET_GDR_LEVEL", NCCL_IB_CUDA_SUPPORT="1"),
    found("ib-gdr", REMOVED, "it is NCCL_NET_GDR_LEVEL now", NCCL_IB_GDR_LEVEL="2"),
    found("rings", REMOVED, "NCCL_GRAPH_FILE", NCCL_RINGS="0 1 2 3"),
    found("abort", REMOVED, "destroy_process_group", TORCH_NCCL_ABORT_IN_DESTROY_PG="1"),
    found("record-streams", REMOVED, "always done", TORCH_NCCL_AVOID_RECORD_STREAMS="1", note=True),
    found("checks-disable", REMOVED, "off by default", NCCL_CHECKS_DISABLE="1", note=True),
    Fault(
        "variable-rings-gone",
        BOARD,
        both(older_nccl("NCCL_MIN_NRINGS"), variables(NCCL_MIN_NRINGS="4")),
        REMOVED,
        says="it is NCCL_MIN_CTAS now",
    ),
    Fault("variable-conf-removed", BOARD, conf(NCCL_LL_THRESHOLD="0"), REMOVED, says="/etc/nccl.conf"),
    found("renamed-nccl", "variable-renamed", "TORCH_NCCL_ASYNC", NCCL_ASYNC_ERROR_HANDLING="1", note=True),
    found("renamed-fr", "variable-renamed", "TORCH_FR_BUFFER_SIZE", TORCH_NCCL_TRACE_BUFFER_SIZE="2000",
          note=True),
    found(
        "renamed-both",
        "variable-renamed",
        "wins",
        TORCH_NCCL_TRACE_BUFFER_SIZE="2000",
        TORCH_FR_BUFFER_SIZE="20000",
    ),
    found("p2p-disable", LEFT, "NVLinks of 8 GPUs lie idle", NCCL_P2P_DISABLE="1"),
    found("p2p-level", LEFT, "NVLinks of 8 GPUs lie idle", NCCL_P2P_LEVEL="LOC"),
    found("p2p-disable-4090", LEFT, "no peer access anyway", NCCL_P2P_DISABLE="1", note=True,
          on="workstation-2x4090"),
    found("p2p-disable-one", LEFT, "1 GPU", NCCL_P2P_DISABLE="1", note=True, on="workstation-4090"),
    found("shm-disable", LEFT, "network card", NCCL_SHM_DISABLE="1"),
    found("ib-disable-two-nodes", LEFT, "2 nodes", NCCL_IB_DISABLE="1", on="srun-rank"),
    found("net-socket", LEFT, "2 nodes", NCCL_NET="Socket", on="srun-rank"),
    found("ib-disable-one-node", LEFT, "TCP", NCCL_IB_DISABLE="1", note=True),
    found("gdr-loc", LEFT, "GPUDirect", NCCL_NET_GDR_LEVEL="LOC", on="srun-rank"),
    found("nvls", LEFT, "NVSwitches", NCCL_NVLS_ENABLE="0", note=True),
    found("cumem", LEFT, "cuMem", NCCL_CUMEM_ENABLE="0", note=True),
    found("algo", LEFT, "one choice", NCCL_ALGO="Ring", note=True),
    Fault("variable-conf-workaround", BOARD, conf(NCCL_P2P_DISABLE="1"), LEFT, says="in /etc/nccl.conf"),
    found("debug-info", "nccl-debug-left", "WARN", NCCL_DEBUG="INFO", note=True),
    found("debug-trace", "nccl-debug-left", "every call", NCCL_DEBUG="trace"),
    found("debug-all", "nccl-debug-left", "every collective", NCCL_DEBUG="INFO", NCCL_DEBUG_SUBSYS="ALL"),
    found("debug-coll", "nccl-debug-left", "COLL", NCCL_DEBUG="INFO", NCCL_DEBUG_SUBSYS="INIT,COLL"),
    found("debug-file", "nccl-debug-left", "%h and %p", NCCL_DEBUG="WARN", NCCL_DEBUG_FILE="/tmp/nccl.log",
          note=True),
    found("topo-dump", "nccl-debug-left", "dump", NCCL_TOPO_DUMP_FILE="/tmp/topo.xml", note=True),
    found("launch-blocking", DEBUG, "waits for every kernel", CUDA_LAUNCH_BLOCKING="1"),
    found("no-caching", DEBUG, "cudaMalloc", PYTORCH_NO_CUDA_MEMORY_CACHING="0"),
    found("detail", DEBUG, "gloo", TORCH_DISTRIBUTED_DEBUG="DETAIL"),
    found("injection", DEBUG, "profiler", CUDA_INJECTION64_PATH="/opt/nsight/libToolsInjection64.so"),
    found("waits-on-exception", DEBUG, "debugger", CUDA_DEVICE_WAITS_ON_EXCEPTION="1"),
    found("core-dump", DEBUG, "disk", CUDA_ENABLE_COREDUMP_ON_EXCEPTION="1"),
    found("desync", DEBUG, "store", TORCH_NCCL_DESYNC_DEBUG="1"),
    found("profile", DEBUG, "profiler", COMPUTE_PROFILE="1", note=True),
    found("info", DEBUG, "DDP", TORCH_DISTRIBUTED_DEBUG="INFO", note=True),
    found("no-handling", DANGEROUS, "wait without end", TORCH_NCCL_ASYNC_ERROR_HANDLING="0", on="torchrun-rank"),
    Fault(
        "variable-no-handling-old-name",
        BOARD,
        variables(NCCL_ASYNC_ERROR_HANDLING="0"),
        DANGEROUS,
        says="wait without end",
    ),
    found("blocking-wait", DANGEROUS, "slow", TORCH_NCCL_BLOCKING_WAIT="1"),
    found("no-monitor", DANGEROUS, "never ended", TORCH_NCCL_ENABLE_MONITORING="0"),
    found("heartbeat-days", DANGEROUS, "12 days", TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC="999999"),
    found("comm-id", DANGEROUS, "another job", NCCL_COMM_ID="10.0.0.9:45678"),
    found("host-id", DANGEROUS, "taken for one", NCCL_HOSTID="node"),
    found("ignore-p2p", DANGEROUS, "NVLink", NCCL_IGNORE_DISABLED_P2P="1"),
    found("two-on-one", DANGEROUS, "LOCAL_RANK", NCCL_MULTI_RANK_GPU_ENABLE="1"),
    found("version-check", DANGEROUS, "different versions", NCCL_ENABLE_VERSION_CHECK="0"),
    found("ib-timeout-endless", DANGEROUS, "without end", NCCL_IB_TIMEOUT="32"),
    found("ll128", DANGEROUS, "corrupted", NCCL_PROTO="LL128", on="server-4xt4"),
    found("alloc-option", "alloc-conf", "no option expandable_segment",
          PYTORCH_CUDA_ALLOC_CONF="expandable_segment:True"),
    found("alloc-equals", "alloc-conf", "joined by", PYTORCH_CUDA_ALLOC_CONF="expandable_segments=True"),
    found("alloc-small", "alloc-conf", "written so", PYTORCH_ALLOC_CONF="expandable_segments:true"),
    found("alloc-quotes", "alloc-conf", "quotes", PYTORCH_ALLOC_CONF='"max_split_size_mb:128"'),
    found("alloc-range", "alloc-conf", "at least 20", PYTORCH_ALLOC_CONF="max_split_size_mb:10"),
    found("alloc-fraction", "alloc-conf", "between", PYTORCH_ALLOC_CONF="garbage_collection_threshold:80"),
    found("alloc-both", "alloc-conf", "two names", PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True",
          PYTORCH_ALLOC_CONF="expandable_segments:False"),
]  # fmt: skip
