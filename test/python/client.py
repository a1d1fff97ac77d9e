"""Drives nacos-sdk-python for the Go tests.

Each line on standard input is a request, {"id": 1, "op": "register", …}; each
line on standard output is its answer, {"id": 1, "value": …} or {"id": 1,
"error": "…"}, or a change that a subscription was told of, {"change":
"service", "hosts": […]}. Whatever else is written goes to standard error.
"""

import importlib.metadata
import json
import os
import sys
import threading

import nacos
from nacos.listener import SubscribeListener

# How often a subscription asks, in seconds.
POLL = 1

out = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
lock = threading.Lock()


def send(message):
    with lock:
        out.write(json.dumps(message) + "\n")
        out.flush()


class Subscription:
    """Makes lists of the single changes that the client tells of. It is not told
    of what was there before, so that is listed first."""

    def __init__(self, service, hosts):
        self.service = service
        self.hosts = {host["instanceId"]: host for host in hosts}
        send({"change": service, "hosts": hosts})

    def changed(self, event, change):
        if event == "DELETED":
            self.hosts.pop(change.instance_id, None)
        else:
            self.hosts[change.instance_id] = change.instance
        send({"change": self.service, "hosts": list(self.hosts.values())})


class Operations:
    def __init__(self, server, username=None, password=None):
        self.arguments = {"server_addresses": server, "username": username, "password": password}
        self.connected = None

    @property
    def client(self):
        if self.connected is None:  # with a name and password it logs in at once
            self.connected = nacos.NacosClient(**self.arguments)
        return self.connected

    def version(self, _request):
        return importlib.metadata.version("nacos-sdk-python")

    def register(self, request):
        i = request["instance"]
        return self.expect_ok(self.client.add_naming_instance(
            request["service"], i["ip"], i["port"], cluster_name=i["clusterName"], weight=i["weight"],
            metadata=i["metadata"], ephemeral=i["ephemeral"],
            heartbeat_interval=int(i["metadata"]["preserved.heart.beat.interval"]) / 1000))

    def update(self, request):
        i = request["instance"]
        return self.expect_ok(self.client.modify_naming_instance(
            request["service"], i["ip"], i["port"], cluster_name=i["clusterName"], weight=i["weight"],
            metadata=i["metadata"], ephemeral=i["ephemeral"]))

    def deregister(self, request):
        i = request["instance"]
        return self.expect_ok(self.client.remove_naming_instance(
            request["service"], i["ip"], i["port"], cluster_name=i["clusterName"],
            ephemeral=i["ephemeral"]))

    def list(self, request):
        return self.client.list_naming_instance(request["service"])["hosts"]

    def select(self, request):
        return self.client.list_naming_instance(request["service"], healthy_only=True)["hosts"]

    def subscribe(self, request):
        service = request["service"]
        subscription = Subscription(service, self.list(request))
        self.client.subscribe(SubscribeListener(subscription.changed, "test"), POLL, service)

    @staticmethod
    def expect_ok(ok):
        if not ok:
            raise RuntimeError("the server did not answer ok")


def main():
    operations = Operations(*sys.argv[1:])
    for line in sys.stdin:
        request = json.loads(line)
        answer = {"id": request["id"]}
        try:
            answer["value"] = getattr(operations, request["op"])(request)
        except Exception as error:  # whatever it is, the test is told
            answer["error"] = repr(error)
        send(answer)
    # The client's timers never end: the end of the input is the end.
    os._exit(0)


main()
