"""`smallloss open`: the page of a run on the loopback address, its decisions saved into the run folder. No torch.

Whoever has the token may see the pictures, be asked at random, and replace two tables, of decisions and of answers;
nobody else may do anything. A page of another site has neither the token nor our Host and Origin. No path comes from a
client: there are few routes.
"""

import hmac
import secrets
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import Any, ClassVar, NamedTuple

from smallloss.auditing.run import Audited
from smallloss.auditing.saved import ROUTES, Saved
from smallloss.auditing.session import page_to_check
from smallloss.errors import InputError
from smallloss.report.page import page
from smallloss.report.sheets import picture_file

LOOPBACK = "127.0.0.1"
LARGEST = 64 << 20  # bytes of a table: a million decisions
LONGEST_SIDE = 640
_HTML = "text/html; charset=utf-8"
_PATIENCE = 20  # seconds that a client may keep us waiting
_SAFE = {
    "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin", "X-Frame-Options": "DENY",
}  # fmt: skip


class Answer(NamedTuple):
    status: HTTPStatus
    kind: str = "text/plain; charset=utf-8"
    body: bytes = b""


class Server(ThreadingHTTPServer):
    """Of one run, which has its dataset. `address` is what to open: it holds the token."""

    daemon_threads = True

    def __init__(self, run: Audited, port: int = 0) -> None:
        self.run, self.token = run, secrets.token_urlsafe(24)
        self.page = page(run, run.folder.absolute().name, served=True).encode()
        try:
            super().__init__((LOOPBACK, port), _Handler)
        except (OSError, OverflowError) as error:
            raise InputError(f"Port {port} of this machine cannot be used ({error}): leave --port out.") from error

    def server_bind(self) -> None:
        TCPServer.server_bind(self)  # without asking anybody what the machine is called

    @property
    def hosts(self) -> set[str]:
        return {f"{name}:{self.server_address[1]}" for name in (LOOPBACK, "localhost")}

    @property
    def address(self) -> str:
        return f"http://{LOOPBACK}:{self.server_address[1]}/{self.token}/"

    def answer_to(self, method: str, name: str, body: bytes) -> Answer:
        """What stands behind the token."""
        if name in ROUTES and method in ("GET", "PUT"):
            return self._table(ROUTES[name], method, body)
        if method == "GET" and name == "":
            return Answer(HTTPStatus.OK, _HTML, self.page)
        if method == "GET" and name == "check":
            return self._check()
        kind, _, number = name.partition("/")
        if (method, kind) == ("GET", "picture") and number.isascii() and number.isdecimal() and len(number) < 12:
            return self._picture(int(number))
        return Answer(HTTPStatus.NOT_FOUND)

    def _table(self, table: Saved, method: str, body: bytes) -> Answer:
        if method == "GET":
            return Answer(HTTPStatus.OK, "text/csv; charset=utf-8", table.read(self.run))
        return Answer(HTTPStatus.NO_CONTENT if table.write(self.run, body) else HTTPStatus.BAD_REQUEST)

    def _check(self) -> Answer:
        """The questions at random, or the sentence that says why there are none."""
        try:
            return Answer(HTTPStatus.OK, _HTML, page_to_check(self.run.folder, self.run.dataset).encode())
        except InputError as error:
            return Answer(HTTPStatus.CONFLICT, body=str(error).encode())

    def _picture(self, row: int) -> Answer:
        data = self.run.dataset
        found = None if data is None or row >= len(data) else picture_file(data, row, LONGEST_SIDE)
        return Answer(HTTPStatus.NOT_FOUND) if found is None else Answer(HTTPStatus.OK, *found)


class _Handler(BaseHTTPRequestHandler):
    server: Server
    timeout = _PATIENCE
    server_version, sys_version = "smallloss", ""
    _BODIES: ClassVar = {"GET": 0, "PUT": LARGEST}

    def do_GET(self) -> None:
        self._answer()

    def do_PUT(self) -> None:
        self._answer()

    def _answer(self) -> None:
        refused = self._refused()
        if refused is not None:
            self._send(Answer(refused))
            return
        body = self.rfile.read(self._length or 0)
        self._send(self.server.answer_to(self.command, self.path.split("/", 2)[2], body))

    def _refused(self) -> HTTPStatus | None:
        """Another host's name, another site's page, no token, or too much: said before anything is read."""
        host, origin = self.headers.get("Host"), self.headers.get("Origin")
        if host not in self.server.hosts or origin not in (None, f"http://{host}"):
            return HTTPStatus.FORBIDDEN
        if self.command == "PUT" and (origin is None or self.headers.get("Content-Type") != "text/csv"):
            return HTTPStatus.FORBIDDEN
        parts = self.path.split("/", 2)
        token = parts[1] if len(parts) == 3 else ""
        if not hmac.compare_digest(token.encode("utf-8", "replace"), self.server.token.encode()):
            return HTTPStatus.FORBIDDEN
        if self._length is None or "Transfer-Encoding" in self.headers:
            return HTTPStatus.LENGTH_REQUIRED
        return HTTPStatus.REQUEST_ENTITY_TOO_LARGE if self._length > self._BODIES[self.command] else None

    @property
    def _length(self) -> int | None:
        said = self.headers.get("Content-Length", "0" if self.command == "GET" else "")
        return int(said) if said.isascii() and said.isdecimal() and len(said) < 12 else None

    def _send(self, answer: Answer) -> None:
        self.send_response(answer.status)
        for name, value in _SAFE.items():
            self.send_header(name, value)
        if answer.body:
            self.send_header("Content-Type", answer.kind)
        self.send_header("Content-Length", str(len(answer.body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        self.wfile.write(answer.body)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Nothing: the address of a request holds the token."""
