"""The network interface cuts every message into packets that are smaller than any network's."""
# run: python fixed.py gpudoctor check --only mtu-mismatch
# needs: root
# needs: namespaces
# needs: ip

import os
import sys

MTU = 1500  # sudo ip link set eth0 mtu 1500
NETWORK = f"""
mount -t sysfs sysfs /sys
ip link set lo up
ip link add eth0 mtu {MTU} type veth peer name switch0
ip link set eth0 up; ip link set switch0 up; ip addr add 10.0.0.1/24 dev eth0
exec "$@"
"""
os.execvp("unshare", ["unshare", "--net", "--mount", "sh", "-c", NETWORK, "sh"] + sys.argv[1:])
