"""``--follow --serve``: the running summary as a page on this machine, for anyone who has its URL.

The page is served on 127.0.0.1 alone, below a random token; a request with another Host header is refused, so
that no page of the web can reach it by a name that it points here (DNS rebinding). Nothing can be written.
"""

from __future__ import annotations

import hmac
import json
import os
import secrets
import threading
from collections import deque
from collections.abc import Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from types import TracebackType
from typing import Any

from multitracer.model.errors import UsageError
from multitracer.report.livepage import live_page

Object = Mapping[str, Any]

HOST = "127.0.0.1"
KEPT = 300
"""Intervals that the page shows."""
REQUEST_S = 10.0
"""A client that sends nothing for so long is dropped."""
MOST_CLIENTS = 16
"""Requests at a time; further ones are closed unanswered."""


class LiveServer:
    """Serves the newest state that it was given, on its own thread, as long as the block runs.

    Parameters
    ----------
    path : str
        The capture; the page has its name.
    port : int
        Of 127.0.0.1; 0: any that is free.
    interval_s : float
        How often the page asks.

    Raises
    ------
    UsageError
        The port cannot be had.
    """

    def __init__(self, path: str, port: int, interval_s: float) -> None:
        name = "standard input" if path == "-" else os.path.basename(path)
        self.token = secrets.token_urlsafe(24)
        self._page, self._policy = live_page(name, interval_s)
        self._history: deque[dict[str, Any]] = deque(maxlen=KEPT)
        self._busiest: Object | None = None
        self._state = b'{"running":null,"history":[],"busiest":null}'
        try:
            self._server = _Server((HOST, port), _Handler)
        except OSError as error:
            raise UsageError(f"--port {port}: {error.strerror or error}; choose another, or none") from error
        self._server.live = self
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def port(self) -> int:
        """At which it is served."""
        return int(self._server.server_address[1])

    @property
    def address(self) -> str:
        """Of the page, token included."""
        return f"http://{HOST}:{self.port}/{self.token}/"

    def tell(self, found: Object) -> None:
        """Serve a running summary from now on."""
        now = found["interval"]
        self._history.append(
            {"capture_s": found["capture_s"], "throughput_bps": now["throughput_bps"], **now["cause"]}
        )
        if now["busiest"]:  # else those of the last interval in which data was sent stay
            self._busiest = {"capture_s": found["capture_s"], "connections": now["busiest"]}
        state = {"running": found, "history": list(self._history), "busiest": self._busiest}
        self._state = json.dumps(state, allow_nan=False).encode()

    def answer(self, path: str, host: str | None) -> tuple[HTTPStatus, str, bytes]:
        """Status, type and body for a request.

        Parameters
        ----------
        path : str
            Of the request.
        host : str or None
            Its Host header.
        """
        if host not in (f"{HOST}:{self.port}", f"localhost:{self.port}"):
            return HTTPStatus.MISDIRECTED_REQUEST, "text/plain", b"another host was asked for\n"
        token, _, rest = path.removeprefix("/").partition("/")
        right = hmac.compare_digest(token.encode("utf-8", "replace"), self.token.encode())
        if right and rest == "":
            return HTTPStatus.OK, "text/html; charset=utf-8", self._page
        if right and rest == "state":
            return HTTPStatus.OK, "application/json", self._state
        return HTTPStatus.NOT_FOUND, "text/plain", b"nothing here\n"

    @property
    def policy(self) -> str:
        """Content security policy of all that is served."""
        return self._policy

    def __enter__(self) -> LiveServer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    allow_reuse_port = False  # no other program may listen at the same port
    live: LiveServer

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        self._places = threading.BoundedSemaphore(MOST_CLIENTS)
        super().__init__(address, handler)

    def server_bind(self) -> None:
        """Without the look-up of a name that HTTPServer makes."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = HOST, int(self.server_address[1])

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Whether there is a place for one more client."""
        return self._places.acquire(blocking=False)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is no news."""


class _Handler(BaseHTTPRequestHandler):
    timeout = REQUEST_S
    server_version = "MultiTracer"
    sys_version = ""

    def do_GET(self) -> None:
        self._answer(body=True)

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def _answer(self, *, body: bool) -> None:
        server = self.server
        assert isinstance(server, _Server)
        hosts = self.headers.get_all("Host") or []
        status, kind, content = server.live.answer(self.path, hosts[0] if len(hosts) == 1 else None)
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if body:
            self.wfile.write(content)

    def end_headers(self) -> None:
        """Of errors too."""
        server = self.server
        assert isinstance(server, _Server)
        for name, value in (
            ("Cache-Control", "no-store"),
            ("Content-Security-Policy", server.live.policy),
            ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Referrer-Policy", "no-referrer"),
            ("X-Content-Type-Options", "nosniff"),
            ("X-Frame-Options", "DENY"),
        ):
            self.send_header(name, value)
        super().end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is logged: the token is in every request."""
