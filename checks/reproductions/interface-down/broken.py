"""The interface that the ranks were told to use is down."""
# run: python broken.py gpudoctor check --only interface-down
# needs: root
# needs: namespaces
# needs: ip

import os
import sys

NETWORK = """
mount -t sysfs sysfs /sys
ip link set lo up
ip link add eth0 type veth peer name switch0
ip link set switch0 up; ip addr add 10.0.0.1/24 dev eth0
exec "$@"
"""
os.environ["GLOO_SOCKET_IFNAME"] = "eth0"
os.execvp("unshare", ["unshare", "--net", "--mount", "sh", "-c", NETWORK, "sh"] + sys.argv[1:])
