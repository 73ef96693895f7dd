"""One rank's MASTER_PORT is that of an ssh server, which answers something else than a rendezvous."""
# run: python broken.py
# needs: torch
# needs: Linux

import datetime
import os
import socket
import threading

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

ssh = socket.create_server(("127.0.0.1", 0))
PORTS = [29614, ssh.getsockname()[1]]  # of rank 0 and rank 1


def serve():
    clients = []
    while True:
        clients.append(ssh.accept()[0])
        clients[-1].sendall(b"SSH-2.0-OpenSSH_9.2p1\r\n")


def train(rank):
    os.environ.update(RANK=str(rank), WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(PORTS[rank]))
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=4 if rank else 20))
    gradient = torch.ones(1)
    dist.all_reduce(gradient)
    print(f"rank {rank}: trained")
    dist.destroy_process_group()


ranks = mp.start_processes(train, nprocs=2, start_method="fork", join=False)
threading.Thread(target=serve, daemon=True).start()
while not ranks.join():
    pass
