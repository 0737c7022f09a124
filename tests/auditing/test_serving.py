"""The page on the loopback address: nobody gets in without the token, and nothing else gets out."""

import csv
import io
import json
import re
import threading
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPException

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audited import CLASSES, run_of
from made import rows_of
from markup import bench_of
from smallloss.auditing import serving
from smallloss.auditing.run import read_run
from smallloss.auditing.saved import ANSWERS, DECISIONS
from smallloss.auditing.serving import Server
from smallloss.auditing.session import read_back
from smallloss.auditing.written import AGAIN, KINDS, RANDOM
from smallloss.errors import InputError
from smallloss.noise.answers import COLUMNS

PATIENCE = 10


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("served") / "run"
    data = run_of(folder)
    run = read_run(folder)
    with Server(run.shown_with(data)) as made:  # type: ignore[arg-type]
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield made
        made.shutdown()
        thread.join(PATIENCE)


def asked(
    server: Server, path: str, method: str = "GET", body: bytes | None = None, **headers: str | None
) -> tuple[int, bytes, dict]:
    """(status, body, headers). Without wishes, as the page itself asks."""
    port = server.server_address[1]
    said = {"Host": f"127.0.0.1:{port}"}
    if method == "PUT":
        said |= {
            "Origin": f"http://127.0.0.1:{port}",
            "Content-Type": "text/csv",
            "Content-Length": str(len(body or b"")),
        }
    said |= {name.replace("_", "-"): value for name, value in headers.items()}
    connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in said.items():
            if value is not None:
                connection.putheader(name, value)
        connection.endheaders(body)
        answer = connection.getresponse()
        return answer.status, answer.read(), dict(answer.getheaders())
    finally:
        connection.close()


def within(server: Server, name: str = "") -> str:
    return f"/{server.token}/{name}"


def decisions(server: Server, *rows: str, run: str | None = None) -> bytes:
    key = server.run.key if run is None else run
    lines = [",".join(COLUMNS), *(f"{row},{key}" for row in rows)]
    return ("\n".join(lines) + "\n").encode()


def test_the_page_and_its_pictures_are_for_whoever_has_the_token(server: Server) -> None:
    status, text, headers = asked(server, within(server))
    assert status == 200
    assert bench_of(text.decode())["served"]
    assert "connect-src 'self'" in text.decode()
    assert headers["Cache-Control"] == "no-store"
    assert headers["X-Content-Type-Options"] == "nosniff"
    status, picture, headers = asked(server, within(server, "picture/3"))
    assert (status, headers["Content-Type"], picture[:4]) == (200, "image/png", b"\x89PNG")
    token = server.token
    for path in (
        "/",
        "//",
        "/x/",
        f"/{token}",
        f"/{token[:-1]}/",
        f"/{token}x/",
        f"/{token.swapcase()}/",
        f"http://127.0.0.1/{token}/",
    ):
        assert asked(server, path)[:2] == (403, b""), path
    assert server.token not in server.page.decode()


def test_no_other_host_and_no_other_site_gets_in(server: Server) -> None:
    port = server.server_address[1]
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", f"127.0.0.1:{port + 1}", None):
        assert asked(server, within(server), Host=host)[0] == 403, host
    assert asked(server, within(server), Host=f"localhost:{port}")[0] == 200
    body = decisions(server)
    for origin in ("http://evil.example", "null", f"https://127.0.0.1:{port}", f"http://localhost:{port}", None):
        assert asked(server, within(server, "decisions"), "PUT", body, Origin=origin)[0] == 403, origin
    assert asked(server, within(server), Origin="http://evil.example")[0] == 403
    assert asked(server, within(server, "decisions"), "PUT", body, Content_Type="text/plain")[0] == 403
    assert not DECISIONS.path(server.run).exists()


def test_decisions_land_in_the_run_folder_and_the_audit_takes_them(server: Server) -> None:
    labels = server.run.labels
    row = int((server.run.examples.likely_wrong).argmax())
    other = CLASSES[(labels[row] + 1) % 3]
    body = decisions(
        server, f'"\'=pictures/{row}.png",{row},"{CLASSES[labels[row]]}","{other}",suspicious,wrong,"{other}"'
    )
    assert asked(server, within(server, "decisions"), "PUT", body)[0] == 204
    assert asked(server, within(server, "decisions"))[1] == body
    assert [one["answer"] for one in rows_of(DECISIONS.path(server.run))] == ["wrong"]
    assert DECISIONS.path(server.run).name not in {f"{name}.csv" for name in KINDS.values()}
    assert read_back(server.run.folder, DECISIONS.path(server.run)).corrected == 1


def test_the_questions_at_random_are_served_and_their_answers_read_back(server: Server) -> None:
    status, text, _ = asked(server, within(server, "check"))
    assert status == 200
    assert b"connect-src 'self'" in text
    questions = json.loads(re.search(r'id="data">(.*?)</script>', text.decode(), re.DOTALL)[1])["questions"]
    assert {one["stratum"] for one in questions} == {RANDOM, AGAIN}
    lines = io.StringIO(newline="")
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow(COLUMNS)
    for one in questions:
        wrong = one["index"] % 3 != one["given"]
        true = one["cells"][2] if not wrong else server.run.classes[one["index"] % 3]
        writer.writerow([*one["cells"], "wrong" if wrong else "right", true if wrong else "", server.run.key])
    body = lines.getvalue().encode()
    assert asked(server, within(server, "decisions"), "PUT", body)[0] == 400
    assert asked(server, within(server, "answers"), "PUT", decisions(server, "x,0,cat,dog,suspicious,right,"))[0] == 400
    assert asked(server, within(server, "answers"), "PUT", body)[0] == 204
    few = body.decode().splitlines(keepends=True)
    assert asked(server, within(server, "answers"), "PUT", "".join(few[:9]).encode())[0] == 204
    saved = rows_of(ANSWERS.path(server.run))  # what was answered and is not asked now stays
    assert [row["index"] for row in saved] == [str(one["index"]) for one in questions]
    heard = read_back(server.run.folder, ANSWERS.path(server.run)).heard
    assert len(heard.asked(RANDOM)) == sum(one["stratum"] == RANDOM for one in questions)


def test_why_nothing_can_be_asked_is_a_sentence(server: Server, monkeypatch) -> None:
    def none(*_: object) -> str:
        raise InputError("There is nothing left to ask at random.")

    monkeypatch.setattr(serving, "page_to_check", none)
    assert asked(server, within(server, "check"))[:2] == (409, b"There is nothing left to ask at random.")


def test_what_is_no_table_of_decisions_on_this_run_changes_nothing(server: Server, monkeypatch) -> None:
    before = DECISIONS.path(server.run).read_bytes() if DECISIONS.path(server.run).exists() else None
    line = "x,0,cat,dog,{},right,"
    bad = (
        b"", b"\xff", b"a,b\n", decisions(server, line.format("random")), decisions(server, "too,short"),
        decisions(server, line.format("suspicious"), run="another"), decisions(server) + b'"',
    )  # fmt: skip
    for body in bad:
        assert asked(server, within(server, "decisions"), "PUT", body)[0] == 400, body
    for length in ("-1", "1e3", "", None):
        assert asked(server, within(server, "decisions"), "PUT", b"", Content_Length=length)[0] == 411, length
    assert asked(server, within(server, "decisions"), "PUT", b"", Transfer_Encoding="chunked")[0] == 411
    monkeypatch.setitem(serving._Handler._BODIES, "PUT", 10)
    assert asked(server, within(server, "decisions"), "PUT", b"", Content_Length="11")[0] == 413
    assert (DECISIONS.path(server.run).read_bytes() if DECISIONS.path(server.run).exists() else None) == before


@pytest.mark.parametrize(
    "name",
    ["config.json", "../config.json", "picture/../../config.json", "picture/-1", "picture/999999", "picture/",
     "picture/1/2", "picture/%D9%A3", "picture/" + "9" * 30, "decisions/..", "%2e%2e/config.json", "?", "/etc/passwd"],
)  # fmt: skip
def test_no_path_leads_anywhere_else(server: Server, name: str) -> None:
    assert asked(server, f"/{server.token}/{name}")[:2] == (404, b"")


@given(
    path=st.from_regex(r"/[!-~]{0,40}", fullmatch=True),
    method=st.sampled_from(["GET", "PUT", "POST", "DELETE", "OPTIONS", "HEAD", "X"]), known=st.booleans(),
    body=st.binary(max_size=60),
)  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_whatever_is_asked_no_secret_is_told_and_nothing_breaks(
    server: Server, path: str, method: str, known: bool, body: bytes
) -> None:
    where = f"/{server.token}{path}" if known else path
    try:
        status, text, _ = asked(server, where, method, body if method in ("PUT", "POST") else None)
    except (HTTPException, ConnectionError):  # it hung up on what is no request
        return
    assert status in ({200, 400, 404, 411, 413, 501} if known else {403, 501, 411, 413})
    assert server.token.encode() not in text
    if not known and status != 501:
        assert text == b""


def test_a_port_that_is_taken_is_named(server: Server) -> None:
    for port in (server.server_address[1], 70000):
        with pytest.raises(InputError, match=f"Port {port} of this machine cannot be used"):
            Server(server.run, port)


def test_a_page_that_is_mailed_asks_no_server(server: Server) -> None:
    from smallloss.report.page import page

    assert re.search(r"connect-src", page(server.run).partition("<style>")[0]) is None
