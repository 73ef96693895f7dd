"""The proxy that is set for the internet is asked for a machine of this network, too, and refuses."""
# run: python broken.py

import os
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer


class Proxy(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_error(407)


class Store(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()


def serve(handler):
    server = HTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


os.environ.update(http_proxy=serve(Proxy), no_proxy="")
print(urllib.request.urlopen(serve(Store) + "/model.pt", timeout=5).status)  # the site's own store of models
