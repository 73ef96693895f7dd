"""proxy-in-the-way: seen in logs."""

MESSAGE = "an HTTP proxy stands in the way"
EXAMPLES = {
    (
        "requests.exceptions.ProxyError: HTTPSConnectionPool(host='huggingface.co', port=443): Max retries exceeded with url: "
        "/x (Caused by ProxyError('Unable to connect to proxy', NewConnectionError(\"HTTPSConnection(host='127.0.0.1', "
        'port=1): Failed to establish a new connection: [Errno 111] Connection refused")))'
    ): f"{MESSAGE} to huggingface.co: Unable to connect to proxy",
    "(Caused by ProxyError('Cannot connect to proxy.', timeout('timed out')))": f"{MESSAGE}: Cannot connect to proxy",
    "httpx.ProxyError: 407 Proxy Authentication Required": f"{MESSAGE}: 407 Proxy Authentication Required",
    "httpcore.ProxyError: 403 Forbidden": f"{MESSAGE}: 403 Forbidden",
    "OSError: Tunnel connection failed: 403 Forbidden": f"{MESSAGE}: 403 Forbidden",
    "ERROR 407: HTTP/1.1 407 Proxy Authentication Required": f"{MESSAGE}: 407 Proxy Authentication Required",
    "curl: (5) Could not resolve proxy: proxy.site.example": f"{MESSAGE}: Could not resolve proxy: proxy.site.example",
    "curl: (56) Received HTTP code 403 from proxy after CONNECT": (
        f"{MESSAGE}: Received HTTP code 403 from proxy after CONNECT"
    ),
    "wandb: Network error: Failed to connect to proxy": f"{MESSAGE}: Failed to connect to proxy",
    "E0602 http_proxy.cc:96] 'http_proxy': 'https' scheme not supported in proxy URI": (
        f"{MESSAGE}: scheme not supported in proxy URI"
    ),
}
NOT_THIS = [
    "[Proxy Service 3] Failed to execute operation Setup from rank 3",
    "requests.exceptions.ConnectionError: HTTPSConnectionPool(host='huggingface.co', port=443): Read timed out.",
    "INFO using proxy http://proxy:3128",
]
