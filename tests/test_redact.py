"""Nothing private leaves the machine: planted secrets, things that must stay, and the laws of redaction."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.facts import KernelEvent, KernelLog
from gpudoctor.redact import Private, Redactor, identifiers, leftovers, redactor
from gpudoctor.redact.names import node_list
from gpudoctor.redact.report import private
from gpudoctor.redact.report import redacted as redacted_report
from gpudoctor.report import Report
from tests.processor_time import within

PRIVATE = Private(
    hosts=("gpu-node-17", "gpu-node-17.hpc.acme.com", "node", "na[01-03].cl.acme.example", "10.20.30.40"),
    users=("alice", "bob", "root", "ubuntu"),
    homes=("/home/alice", "/gpfs/u/bob"),
    folders=("/srv/acme/train", "/home/alice/proj x", "/opt/conda", "/usr", "/"),
    public=("12.4.5.8", "gpu_uuid"),
)
UUID = "GPU-8f3a2b1c-1111-2222-3333-444455556666"
HEX = "0123456789abcdef0123456789abcdef01234567"


def redacted(text: str, private: Private = PRIVATE) -> str:
    return Redactor(private).text(text)


# --- what must go --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, expected",
    [
        # hosts
        (
            "gpu-node-17:4242:4300 [0] NCCL INFO NET/Socket : Using [0]eth0:10.20.30.40<0>",
            "host-1:4242:4300 [0] NCCL INFO NET/Socket : Using [0]eth0:ip-1<0>",
        ),
        ("GPU-Node-17.hpc.acme.com and gpu-node-17", "host-1 and host-1"),
        ("gpu-node-17.other.domain, gpu-node-17.", "host-1, host-1."),
        ("gpu-node-17-ib0 gpu-node-17_eth1 gpu-node-17.log", "host-1-ib0 host-1_eth1 host-1.log"),
        ("login3.hpc.acme.com, hpc.acme.com, acme.com", "host-6, host-7, host-8"),
        ("na[01-03].cl.acme.example", "host-[3-5]"),
        ("na02 NA03 na01.cl.acme.example", "host-4 host-5 host-3"),
        ("node", "host-2"),
        ("node 3 of the node list", "node 3 of the node list"),
        ("unknown9:77:78 [1] NCCL WARN x; again unknown9", "host-6:77:78 [1] NCCL WARN x; again host-6"),
        ("srun: error: g15: task 1: Exited", "srun: error: host-6: task 1: Exited"),
        ("[rank0]:   host      : g15.acme.example", "[rank0]:   host      : host-6"),
        ("failed to connect to [g15]:29500 (errno", "failed to connect to [host-6]:29500 (errno"),
        ("addresses of (ai-srv, 44927) cannot", "addresses of (host-6, 44927) cannot"),
        ("Linux foo9 5.15.0-1-aws #1 SMP", "Linux host-6 5.15.0-1-aws #1 SMP"),
        ("May  9 07:35:25 bar7 kernel: NVRM: Xid", "May  9 07:35:25 host-6 kernel: NVRM: Xid"),
        ("MASTER_ADDR=ip-10-0-0-4.ec2.internal", "MASTER_ADDR=host-6"),
        ("--rdzv-endpoint=g15:29500 --master_addr g16", "--rdzv-endpoint=host-6:29500 --master_addr host-7"),
        ("tcp://gpu-node-17:29500", "tcp://host-1:29500"),
        # users
        ("alice ran it, alice_exp too, not malice", "user-1 ran it, user-1_exp too, not malice"),
        ("用户alice登录", "用户user-1登录"),
        ("root and ubuntu are nobody", "root and ubuntu are nobody"),
        ("/home/ubuntu/x.py", "/home/user-1/x.py"),
        ("uid=1000(carol) gid=1", "uid=1000(user-1) gid=1"),
        ("USER=carol, and carol", "USER=user-1, and user-1"),
        ("alice@gpu-node-17:~/proj$ ls", "user-1@host-1:~/proj$ ls"),
        ("carol@g15:~/proj$ ssh dave@g16", "user-1@host-6:~/proj$ ssh user-2@host-7"),
        # paths
        ("/home/alice/x/train.py", "path-1/train.py"),
        ("/home/alice", "~"),
        ("/home/alicex/y.py", "/home/user-1/y.py"),
        ("/home/home/y.py", "/home/user-1/y.py"),
        ("/Users/carol/y.py by carol", "/Users/user-1/y.py by user-1"),
        ("/root/train.py", "/root/train.py"),
        (
            '  File "/data/acme/train.py", line 3, in <module>',
            '  File "path-1/train.py", line 3, in <module>',
        ),
        ('File "/data/my proj/x.py", line 1', 'File "path-1/x.py", line 1'),
        ("'/home/alice/proj x/a.py' /home/alice/proj x/b.py", "'path-1/a.py' path-1/b.py"),
        ("/srv/acme/train/src/main.py:12", "path-1/src/main.py:12"),
        ("x=/mnt/srv/acme/train", "x=path-1"),
        ("file:///home/alice/a.whl", "file://~/a.whl"),
        (
            "PATH=/home/alice/bin:/home/carol/bin:/usr/bin:/opt/conda/bin:/data/x/bin:/data/acme",
            "PATH=~/bin:/home/user-1/bin:/usr/bin:/opt/conda/bin:path-1/bin:path-2",
        ),
        ("-I/home/carol/inc -L/data/acme/lib64", "-I path-1 -L path-2/lib64"),
        ("/e/acme/lib/python3.11/site-packages/torch/x.py", "path-1/lib/python3.11/site-packages/torch/x.py"),
        ("/e/acme/bin/python", "path-1/bin/python"),
        ("[rank0]/scratch/acme/x and a[0]/norm", "[rank0]path-1 and a[0]/norm"),
        ("错误：/data/项目/train.py。然后", "错误：path-1/train.py。然后"),
        (r"C:\Users\Jane Doe\x.py", r"C:\Users\user-1\x.py"),
        (r"'C:\\Users\\jane\\x.py'", r"'C:\\Users\\user-1\\x.py'"),
        # another machine's folder
        (r'File "\\filer-07\teams\vision\x.py", line 3', 'File "path-1/x.py", line 3'),
        (r"opens '\\\\filer-07\\teams\\vision\\x.py'", "opens 'path-1/x.py'"),
        ('File "//filer-07/teams/vision/x.py", line 3', 'File "path-1/x.py", line 3'),
        (r"D:\acme\train.py", "path-1/train.py"),
        ("\x1b[31m/home/alice/x\x1b[0malice", "\x1b[31mpath-1\x1b[0muser-1"),
        # addresses
        ("10.1.2.3:29500 10.1.2.3/24 10.1.2.4.", "ip-1:29500 ip-1/24 ip-2."),
        ("[::ffff:10.1.2.3]:29500", "[::ffff:ip-1]:29500"),
        ("fe80::1%eth0 [2001:db8::17]:29500 2001:DB8:0::17/64", "ip-1%eth0 [ip-2]:29500 ip-2/64"),
        ("connect to fe80::1: refused", "connect to ip-1: refused"),
        ("地址10.1.2.3端口", "地址ip-1端口"),
        ("MASTER==x, ip_10.1.2.3_x", "MASTER==x, ip_ip-1_x"),
        ("a1:b2:c3:d4:e5:f6 A1-B2-C3-D4-E5-F6", "mac-1 mac-1"),
        ("mac:a1:b2:c3:d4:e5:f6:eth0, ib0:fd12:3456::1%ib0<0>", "mac:mac-1:eth0, ib0:ip-1%ib0<0>"),
        ("80:00:02:08:fe:80:00:00:00:00:00:00:00:02:c9:03:00:a1:b2:c3", "mac-1"),
        ("node_guid 0002:c903:00a1:b2c3", "node_guid mac-1"),
        (f"{UUID} {UUID[:12]} MIG-{UUID[4:]}", "gpu-uuid-1 gpu-uuid-1 gpu-uuid-1"),
        (f"CUDA_VISIBLE_DEVICES={UUID[:12]},GPU-9", "CUDA_VISIBLE_DEVICES=gpu-uuid-1,GPU-9"),
        ("Serial Number : 1652922000123, 1652922000123", "Serial Number : serial-1, serial-1"),
        # e-mail and URLs
        ("mail carol@mail.acme.com!", "mail email-1!"),
        ("https://user:p@ss@github.com/acme", "https://github.com/acme"),
        ("http://u:p@localhost:80/x http://u:p@[::1]:80/", "http://localhost:80/x http://[::1]:80/"),
        ("https://pkg.acme.com/api/pypi/simple?x=y", "https://host-6/path-1/simple"),
        ("https://gpu-node-17.nvidia.com/x", "https://host-1/x"),
        # secrets
        ("hf_abcdefghijklmnopqrstuv and AKIAABCDEFGHIJKLMNOP", "token-1 and token-2"),
        ("ghp_abcdefghijklmnopqrst1 github_pat_11ABCDEFG0abcdefgh", "token-1 token-2"),
        ("glpat-abcdefghijklmnopqrst xoxb-1234567890-abc", "token-1 token-2"),
        ("sk-proj-abc123def456ghi789 nvapi-abcdefghijklmnopqrstu", "token-1 token-2"),
        ("eyJhbGciOiJIUzI1.eyJzdWIiOiIx.SflKxwRJ", "token-1"),
        (f"wandb login {HEX}", "token-1"),
        (f"WANDB_API_KEY={HEX}, WANDB_API_KEY: '{HEX}'", "WANDB_API_KEY=(hidden), WANDB_API_KEY: '(hidden)'"),
        (
            "password=hunter2 passwd: 12345 token: abcdef",
            "password=(hidden) passwd: (hidden) token: (hidden)",
        ),
        ('{"hf_token": "zzz", "n": 1}', '{"hf_token": "(hidden)", "n": 1}'),
        (r"{\"db_password\": \"zzz\"}", r"{\"db_password\": \"(hidden)\"}"),
        ('secret="cut off', 'secret="(hidden)'),
        ("Authorization: Bearer abc.def", "Authorization: Bearer (hidden)"),
        ("curl -H 'authorization: basic YWxhZGRpbg=='", "curl -H 'authorization: basic (hidden)'"),
        ("--api-key abc --password hunter2", "--api-key (hidden) --password (hidden)"),
        ("login carol password hunter2xyz", "login carol password (hidden)"),
        (
            "https://s3.googleapis.com/b?X-Goog-Signature=ab12",
            "https://s3.googleapis.com/b?X-Goog-Signature=(hidden)",
        ),
        ("KEY_A_B=c0ffee1234567890 c0ffee1234567890", "KEY_A_B=c0ffee1234567890 c0ffee1234567890"),
        ("AWS_SECRET=c0ffee1234567890 c0ffee1234567890", "AWS_SECRET=(hidden) (hidden)"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nx=\n-----END RSA PRIVATE KEY-----\nrest", "token-1\nrest"),
        ("-----BEGIN PRIVATE KEY-----\nMIIEowIBAAKCAQEAabcdef\ncut", "token-1\ncut"),
    ],
)
def test_private_things_are_replaced(text: str, expected: str) -> None:
    assert redacted(text) == expected
    assert leftovers(expected, PRIVATE) == []


# --- what must stay ------------------------------------------------------------------------------------------

PUBLIC = """
127.0.0.1 127.0.1.1:29500 0.0.0.0 :: ::1 [::]:29500 [::1]:0 255.255.255.255 255.255.255.0 localhost localhost:29500
ff:ff:ff:ff:ff:ff 00:00:00:00:00:00
nvidia-cublas-cu12==12.4.5.8 nvidia-cufft-cu12 11.2.1.3 nvidia_curand_cu12-10.3.5.147-py3-none-manylinux2014
[conda] libcublas                 12.4.5.8                      0    nvidia
nvidia-cudnn-cu12>=9.1.0.70 cuDNN version: 8.9.2.26 libcudnn.so.8.9.2.26 MLNX_OFED_LINUX-5.8-1.1.2.1 v1.2.3.4
libcudnn8=8.9.2.26-1+cuda12.1 1.2.3.4rc1 VBIOS Version : 90.02.17.00.4B driver 580.82.07
12:30:45 2024-05-01T12:30:45 24-05-01-12-30-45 0000:3b:00.0 00000000:3B:00.0 PCI:0000:3b:00 0x1a00 0xdeadbeefcafe
std::vector<at::Tensor> torchvision::nms c10::Error at::cuda a::b x[::2] x[1::2] x[10::100] x[2000::2] [::-1]
git_version 1a2b3c4d5e6f7a8b9c0d1e2f3a4b5c6d7e8f9a0b sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495
Missing key(s) in state_dict: "module.layer.key", "key.weight". unexpected_keys=['a.b'] missing_keys: ['c']
pad_token='<pad>' eos_token: </s> tokens: 512 token: 512 max_new_tokens=7 num_tokens = 3 per_token=0.5ms tokenizer=x
the secret is out, the password was wrong, Unexpected token in JSON, password: None, API_KEY="" --tokenizer gpt2
attn = q@k.transpose(-2, -1) + x@W.T getty@tty1.service pkg @ file.whl git@github.com:acme/repo.git @torch.no_grad()
r"\\\\w+\\d\\s" "//usr/lib/libcuda.so.1" //tensorflow/core:ops https://pytorch.org/docs/stable/data.html
/usr/lib/x86_64-linux-gnu/libcuda.so.1 /usr/local/cuda/bin /lib64 /bin /sbin /proc/123/maps /sys/class/net /etc/hosts
/dev/shm /dev/nvidia0 /run/nvidia /boot /tmp /tmp/x.log /root/x.py /opt/conda/lib /opt/venv/bin/python /opt/nvidia/nccl
/workspace/train.py /data /mnt /home /pytorch/c10/cuda/CUDAException.cpp:42 /path/to/train.py </torch_30997_2076642173>
/var/log/syslog /var/run/nvidia-persistenced/socket ~/x.py ./data/x.py ../a/b.py src/home/x N/A 3 it/s 1/2 and/or s/a/b/
0MiB /  8192MiB / 5 </div> <br/> // comment /* c */ C:\\Windows\\System32 s3://x
https://pytorch.org/docs https://docs.pytorch.org/docs/stable/elastic https://github.com/acme/x/issues/1 env:// http://localhost:80
hf_model GPU-0 MIG-1g.5gb sk-learn host-1 ip-2 path-3/x.py ~/y (hidden) token-1 host-[1-3,7] mac-9 user-1@host-2
""".strip().splitlines()


@pytest.mark.parametrize("line", PUBLIC)
def test_public_things_stay(line: str) -> None:
    assert redacted(line) == line
    assert leftovers(line, PRIVATE) == []


def test_versions_of_a_tree_are_no_addresses_anywhere_in_it() -> None:
    tree = {
        "text": "found 10.3.5.147",
        "packages": {"nvidia-curand-cu12": "10.3.5.147"},
        "listed": [{"name": "nvidia-cufft", "version": "11.2.1.3"}, "11.2.1.3"],
    }
    assert Redactor(Private()).tree(tree) == tree


def test_a_known_address_is_private_even_where_a_version_could_stand() -> None:
    private = Private(hosts=("12.4.5.8:29500",), public=("12.4.5.8",))
    assert redacted("to 12.4.5.8", private) == "to ip-1"
    assert leftovers("to 12.4.5.8", private) == ["12.4.5.8"]


# --- whole texts ---------------------------------------------------------------------------------------------

TRACEBACK = f"""\
[rank1]: Traceback (most recent call last):
[rank1]:   File "/gpfs/u/bob/secret-sauce/train.py", line 3, in <module>
[rank1]:     dist.init_process_group("nccl", init_method="tcp://10.20.30.40:29500")
[rank1]:   File "/srv/acme/train/.venv/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py", line 9
[rank1]: torch.distributed.DistNetworkError: The client socket has timed out after 60000ms while trying to connect to
[rank1]: (gpu-node-17.hpc.acme.com, 29500). Exception raised from doConnect at /pytorch/torch/csrc/socket.cpp:1018
gpu-node-17:4242:4300 [0] NCCL INFO NET/Socket : Using [0]eth0:10.20.30.40<0> [1]ib0:fd12:3456::1%ib0<0>
gpu-node-17:4242:4300 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB eth0:10.20.30.40<0>
na02:11:12 [1] init.cc:943 NCCL WARN Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 3b000
Collecting environment information...
Python platform: Linux-5.15.0-91-generic-x86_64-with-glibc2.35
GPU 0: NVIDIA A100-SXM4-80GB (UUID: {UUID})
Nvidia driver version: 535.104.05
[pip3] nvidia-cublas-cu12==12.1.3.1
[conda] nvidia-cudnn-cu12         8.9.2.26                 pypi_0    pypi
| NVIDIA-SMI 535.104.05             Driver Version: 535.104.05   CUDA Version: 12.2     |
|   0  NVIDIA A100-SXM4-80GB          On  | 00000000:3B:00.0 Off |                    0 |
| N/A   34C    P0              64W / 400W |      4MiB / 81920MiB |      0%      Default |
|    0   N/A  N/A     12345      C   /home/alice/miniconda3/envs/x/bin/python        512MiB |
WANDB_API_KEY={HEX} HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyz alice@acme.com link/ether a1:b2:c3:d4:e5:f6
"""
PLANTED = (
    "gpu-node-17", "acme.com", "na02", "alice", "bob", "/srv/acme", "/gpfs/u", "10.20.30.40", "fd12:3456", HEX,
    "hf_abc", "a1:b2", UUID[4:12],
)  # fmt: skip
KEPT = (
    "lib/python3.11/site-packages/torch/distributed/distributed_c10d.py", "/pytorch/torch/csrc/socket.cpp:1018",
    "535.104.05", "nvidia-cublas-cu12==12.1.3.1", "8.9.2.26", "00000000:3B:00.0", "NCCL WARN Duplicate GPU",
    "/bin/python        512MiB", "eth0:ip-1<0>", "[rank1]:   File", "train.py", "4MiB / 81920MiB",
)  # fmt: skip


def test_a_whole_log_loses_every_planted_thing_and_keeps_what_matters() -> None:
    text = redacted(TRACEBACK)
    assert [thing for thing in PLANTED if thing in text] == []
    assert [thing for thing in KEPT if thing not in text] == []
    assert text.count("\n") == TRACEBACK.count("\n")
    assert leftovers(text, PRIVATE) == []


def test_a_tree_loses_every_planted_thing_and_keeps_its_structure() -> None:
    tree = {
        "facts": {
            "network": {
                "hostname": "gpu-node-17",
                "fqdn": "gpu-node-17.hpc.acme.com",
                "addresses": ["10.20.30.40"],
            },
            "launch": {
                "master_addr": "other42",
                "variables": {"HF_TOKEN": "plain", "SLURM_JOB_USER": "carol"},
            },
            "listed": [{"name": "MY_API_KEY", "value": "shh"}, {"name": "RANK", "value": "3"}],
            "gpus": [
                {"gpu_uuid": UUID, "serial": "1652922000123", "memory": 80, "ok": True, "bar": None, "f": 0.5}
            ],
            "hosts": {"gpu-node-17": 1, "gpu-node-17.hpc.acme.com": 2},
            "secrets": {"credentials": ["a", {"deep": "b"}, 7], "empty_token": ""},
            "state": {"missing_keys": ["layer.weight"], "max_tokens": "512", "name": "key"},
        },
        "findings": [{"message": "other42 is carol's, board 1652922000123", "evidence": (TRACEBACK,)}],
    }
    redactor = Redactor(PRIVATE)
    result = redactor.tree(tree)
    assert same_shape(tree, result)
    facts = result["facts"]
    assert facts["network"] == {"hostname": "host-1", "fqdn": "host-1", "addresses": ["ip-1"]}
    assert facts["launch"] == {
        "master_addr": "host-6",
        "variables": {"HF_TOKEN": "(hidden)", "SLURM_JOB_USER": "user-1"},
    }
    assert facts["listed"] == [{"name": "MY_API_KEY", "value": "(hidden)"}, {"name": "RANK", "value": "3"}]
    assert facts["gpus"] == [
        {"gpu_uuid": "gpu-uuid-1", "serial": "serial-1", "memory": 80, "ok": True, "bar": None, "f": 0.5}
    ]
    assert facts["hosts"] == {"host-1": 1, "host-1 (2)": 2}
    assert facts["secrets"] == {"credentials": ["(hidden)", {"deep": "(hidden)"}, 7], "empty_token": ""}
    assert facts["state"] == tree["facts"]["state"]
    assert result["findings"][0]["message"] == "host-6 is user-1's, board serial-1"
    assert [thing for thing in PLANTED if thing in str(result)] == []
    assert leftovers(str(result), PRIVATE) == []
    assert replaced(redactor, "host") == 3  # gpu-node-17, other42, na02
    assert replaced(redactor, "gpu-uuid") == 1


def replaced(redactor: Redactor, kind: str) -> int:
    """How many things of a kind have an alias so far."""
    return len(redactor._aliases.used.get(kind, ()))


def same_shape(left: object, right: object) -> bool:
    if isinstance(left, dict):
        return (
            isinstance(right, dict)
            and len(left) == len(right)
            and all(same_shape(a, b) for a, b in zip(left.values(), right.values(), strict=True))
        )
    if isinstance(left, (list, tuple)):
        return (
            type(left) is type(right)
            and len(left) == len(right)
            and all(same_shape(a, b) for a, b in zip(left, right, strict=True))
        )
    return type(left) is type(right) and (isinstance(left, str) or left == right)


# --- numbering -----------------------------------------------------------------------------------------------


def test_known_hosts_come_first_and_the_rest_in_order_of_appearance() -> None:
    redactor = Redactor(Private(hosts=("first9", "second9")))
    assert (
        redactor.text("MASTER_ADDR=third9 second9 bob9@fourth9:~")
        == "MASTER_ADDR=host-3 host-2 user-1@host-4:~"
    )
    assert redactor.text("second9 10.0.0.2 10.0.0.1 10.0.0.2") == "host-2 ip-1 ip-2 ip-1"
    assert [replaced(redactor, kind) for kind in ("host", "ip", "user", "home")] == [3, 2, 1, 0]


def test_aliases_of_an_earlier_report_are_not_given_again() -> None:
    text = "host-1 talks to ip-1; now gpu-node-17 to 10.0.0.9"
    assert redacted(text) == "host-1 talks to ip-1; now host-2 to ip-2"


def test_public_keys_are_fields_and_stay() -> None:
    private = Private(users=("networkx9",), public=("networkx9",))
    assert Redactor(private).tree({"networkx9": "networkx9"}) == {"networkx9": "user-1"}


def test_a_user_named_like_a_word_of_the_report_does_not_break_it() -> None:
    private = Private(users=("found", "cause", "torch"), hosts=("broken", "environment9"))
    tree = {
        "status": "found",
        "role": "cause",
        "text": "broken by torch",
        "log": "/home/found/x environment9",
    }
    assert Redactor(private).tree(tree) == {**tree, "log": "path-1 host-2"}


def test_homes_and_folders_of_the_system_are_left_alone() -> None:
    private = Private(homes=("/", "/usr/sbin", "/tmp", "/root", ""), folders=("", "/usr", "/etc/x"))
    line = "/usr/sbin/nvidia-smi /tmp/x.py /etc/x/y /"
    assert redacted(line, private) == line


def test_folders_go_before_the_home_they_lie_in() -> None:
    private = Private(homes=("/home/alice",), folders=("/home/alice/a", "/home/alice/a/b"))
    assert redacted("/home/alice/a/b/c /home/alice/a/c /home/alice/c", private) == "path-1/c path-2/c path-3"


@pytest.mark.parametrize(
    "text, names",
    [
        ("gpu[01-03,07]", ["gpu01", "gpu02", "gpu03", "gpu07"]),
        ("a1,b[2-3]", ["a1", "b2", "b3"]),
        ("r[1-2]n[8-9].x", ["r1n8.x", "r1n9.x", "r2n8.x", "r2n9.x"]),
        ("gpu[3-1]", []),
        ("gpu[1-99999999]", None),
        ("gpu[1-9000][1-9000]", None),
        ("gpu[a-b]", None),
        ("x[", None),
    ],
)
def test_node_lists(text: str, names: list[str] | None) -> None:
    assert (node_list(text) or None) == (names or None)


# --- laws ----------------------------------------------------------------------------------------------------

ATOMS = [
    "gpu-node-17", ".hpc.acme.com", "na[01-03].cl.acme.example", "na02", "node", "10.20.30.40", "12.4.5.8", "alice",
    "bob", "root", "/home/", "/home/alice", "/gpfs/u/bob", "/srv/acme/train", "/proj x", "/", "/x.py", "carol",
    "lib/python3.10/", "~", "path-1", "user-1", "ip-1", "(hidden)", "token-1", "host-1", "host-[1-2]", "gpu-uuid-1",
    "=", ":", " ", "\n", "\t", '"', "'", "[", "]", "(", ")", "@", "://", "https", "file://", "C:\\Users\\", "\\",
    "password", "token", "_key", "Bearer ", "hf_abcdefghijklmnopq", "abc123def456ghi7", "fe80::1", "%eth0", "1.2.3.4",
    "a1:b2:c3:d4:e5:f6", "::", UUID, ",", ".", "-", "_", "0", "==", "version", "uid=10(zed)", "USER=", "MASTER_ADDR=",
    ":1:2 [0] NCCL ", "\x1b[31m", "-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----", "é", "İ", "ſ",
    "\ufdd0", "\ufdd1", "\ud800", "ssh ", ".internal", "ip-10-0-0-7", "github.com", "-I",
    "Serial Number : ", "165200001",
]  # fmt: skip
TEXTS = st.one_of(st.text(max_size=60), st.lists(st.sampled_from(ATOMS), max_size=14).map("".join))
TREES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS, inner, max_size=4)),
    max_leaves=8,
)
NAMES = st.text(string.ascii_letters + string.digits + "-._é用", min_size=1, max_size=12)
PRIVATES = st.builds(
    Private,
    hosts=st.lists(NAMES, max_size=3).map(tuple),
    users=st.lists(NAMES, max_size=3).map(tuple),
    homes=st.lists(NAMES.map("/home/{}".format), max_size=2).map(tuple),
    folders=st.lists(NAMES.map("/data/{}/x".format), max_size=2).map(tuple),
)


@given(TEXTS)
def test_redaction_is_idempotent(text: str) -> None:
    redactor = Redactor(PRIVATE)
    once = redactor.text(text)
    assert redactor.text(once) == once
    assert Redactor(PRIVATE).text(once) == once


@given(TEXTS)
def test_nothing_private_is_left(text: str) -> None:
    assert leftovers(redacted(text), PRIVATE) == []


@given(TREES)
def test_trees_keep_their_structure_and_redact_only_once(tree: object) -> None:
    redactor = Redactor(PRIVATE)
    once = redactor.tree(tree)
    assert same_shape(tree, once)
    assert redactor.tree(once) == once


@given(st.lists(TEXTS, min_size=2, max_size=6), st.data())
def test_equal_strings_stay_equal(texts: list[str], data: st.DataObject) -> None:
    places = data.draw(st.lists(st.sampled_from(texts), min_size=2, max_size=8))
    result = Redactor(PRIVATE).tree({"list": places, "again": [{"text": text} for text in places]})
    alias = dict(zip(places, result["list"], strict=True))
    assert result["list"] == [alias[text] for text in places]
    assert [entry["text"] for entry in result["again"]] == result["list"]


@given(st.lists(st.from_regex(r"[a-z]{4}[0-9]{3}", fullmatch=True), min_size=2, max_size=5, unique=True))
def test_different_hosts_stay_different(hosts: list[str]) -> None:
    redactor = Redactor(Private(hosts=tuple(hosts)))
    aliases = redactor.tree(hosts)
    assert aliases == [f"host-{number}" for number in range(1, len(hosts) + 1)]
    assert redactor.tree([f"{host}.example.net" for host in hosts]) == aliases


@given(TEXTS, PRIVATES)
def test_nothing_raises_whatever_is_private(text: str, private: Private) -> None:
    redactor = Redactor(private)
    once = redactor.text(
        f"{text} {' '.join(private.hosts + private.users + private.homes + private.folders)}"
    )
    assert redactor.text(once) == once
    leftovers(once, private)


# --- leftovers -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, found",
    [
        ("on GPU-NODE-17-ib0", "gpu-node-17"),
        ('{"text": "line\\nalice"}', "alice"),
        ("see /srv/acme/train/x", "/srv/acme/train"),
        ("na03 is down", "na03"),
        ("10.9.8.7", "10.9.8.7"),
        ("fe80::7%eth0", "fe80::7"),
        ("a1:b2:c3:d4:e5:f6", "a1:b2:c3:d4:e5:f6"),
        (UUID, UUID),
        ("/home/mallory/x", "mallory"),
        ("carol@acme.org", "carol@acme.org"),
        ("api_key=abcdefgh", "abcdefgh"),
        ("hf_abcdefghijklmnopqrst", "hf_abcdefghijklmnopqrst"),
        ("ftp://u:p@x.org", "://u:p@x.org"),
    ],
)
def test_leftovers_are_found(text: str, found: str) -> None:
    assert found in leftovers(text, PRIVATE)


def test_escaped_names_are_found() -> None:
    private = Private(folders=("/data/a&b/c", 'C:\\acme\\"x"'))
    assert leftovers("<td>/data/a&amp;b/c</td>", private) == ["/data/a&b/c"]
    assert leftovers('{"a": "C:\\\\acme\\\\\\"x\\""}', private) == ['C:\\acme\\"x"']


@pytest.mark.parametrize("step", ["_paths", "_urls", "_ip4", "_gpu_uuids"])
def test_a_sabotaged_redactor_is_caught(step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    unchanged = (lambda self, text: iter(())) if step in ("_ip4", "_gpu_uuids") else (lambda self, text: text)
    monkeypatch.setattr(Redactor, step, unchanged)
    text = redacted(TRACEBACK + "https://user:pass@localhost/ /home/mallory/x")
    assert leftovers(text, PRIVATE) != []


@pytest.mark.parametrize("finder", ["emails", "hardware_addresses", "ip6"])
def test_a_redactor_without_a_finder_is_caught(finder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    blind = type("Identifiers", (), {**vars(identifiers), finder: staticmethod(lambda text: iter(()))})
    monkeypatch.setattr(redactor, "identifiers", blind)
    assert leftovers(redacted(TRACEBACK + "mallory@x.org"), PRIVATE) != []


# --- speed ---------------------------------------------------------------------------------------------------

MANY = Private(
    hosts=("gpu[0001-4096]", "login-[001-999].acme.example"), users=("alice",), homes=("/home/alice",)
)
REPEATED = [
    "a", "a.", "a@", "@", "/", "/a", "token", "token=", "token ", "-----BEGIN RSA PRIVATE KEY-----", ":", "ab:",
    "1.2.3.4 ", "1.", "://a", "://a@", '"/a ', " ", "eyJaaaaaaaa.", "C:\\a ", "sk-", "host-1", "host-[1,", "\n",
    "\x1b[0m", "1", "/home/a", "login-001-", "gpu0001 ", "version ", "password password ", "login a password ",
]  # fmt: skip


def redact(text: str, private: Private = MANY) -> None:
    leftovers(Redactor(private).text(text), private)


def test_two_megabytes_of_log_take_about_a_second() -> None:
    line = "2026-11-20 12:30:45,123 INFO epoch 3 step 400 loss 0.2345 lr 1e-4 tokens/s 12345 mem 40.2GiB /usr/lib/x\n"
    log = (line * 12 + TRACEBACK) * 800
    with within(2.5):  # 1.3 s on that machine
        redact(log[:2_000_000])


@pytest.mark.parametrize("piece", REPEATED)
def test_no_text_takes_more_than_linear_time(piece: str) -> None:
    with within(1.0):
        redact((piece * 100_000)[:100_000])


def test_a_package_of_hydras_search_path_is_no_host():
    line = "provider=hydra, path=pkg://hydra.conf; Hydra says so"
    assert redacted(line) == line


def test_a_server_that_the_kernel_log_names_is_private() -> None:
    event = KernelEvent(
        kind="nfs", text="nfs: server juno-fs7 not responding, still trying", process="juno-fs7"
    )
    facts = {"kernel_log": KernelLog(source="/dev/kmsg", events=[event])}
    report = Report(probes=[], facts=dict(facts))
    [made] = redacted_report(report, private(report)).facts["kernel_log"].events  # type: ignore[attr-defined]
    assert "juno-fs7" not in made.text + made.process
