"""The page of a capture that is followed: served here alone, to whoever has its address, and only to read."""

from __future__ import annotations

import http.client
import json
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from support_page import browser
from support_samples import PATIENCE_S

from multitracer.api.follow import Follower
from multitracer.api.interval import MOST_BASES, Intervals
from multitracer.cli.main import group
from multitracer.cli.serve import MOST_CLIENTS, LiveServer
from multitracer.model.errors import UsageError

CAPTURE = Path(__file__).parents[1] / "sample_traces" / "link-resets-vj" / "snd.pcap"
COMMAND = [sys.executable, "-m", "multitracer", "analyze", "--follow"]
ATTACK = "<img src=x onerror=alert(1)></script><script>alert(2)</script>"


@pytest.fixture
def server() -> Iterator[LiveServer]:
    with LiveServer(ATTACK, 0, 0.1) as live:
        yield live


@pytest.fixture(scope="module")
def running() -> dict[str, Any]:
    with Follower(CAPTURE) as follower:
        follower.stop()
        assert follower.wait(PATIENCE_S)
        return follower.running()


def asked(server: LiveServer, path: str, method: str = "GET", **headers: str) -> tuple[int, Any, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_S)
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    found = answer.status, answer.headers, answer.read()
    connection.close()
    return found


def test_the_address_serves_the_page_and_the_state(server: LiveServer, running: dict[str, Any]) -> None:
    status, headers, page = asked(server, f"/{server.token}/")
    assert status == 200
    assert headers["Cache-Control"] == "no-store"
    assert headers["Referrer-Policy"] == "no-referrer"
    policy = headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert b"<img" not in page
    server.tell(running)
    _, headers, body = asked(server, f"/{server.token}/state")
    assert headers["Cache-Control"] == "no-store"
    found = json.loads(body)
    assert found["running"] == json.loads(json.dumps(running))
    assert found["history"][0]["kind"] == running["interval"]["cause"]["kind"]
    status, _, body = asked(server, f"/{server.token}/", "HEAD")
    assert (status, body) == (200, b"")


def test_nobody_else_is_answered(server: LiveServer) -> None:
    page = f"/{server.token}/"
    for path in (
        "/",
        "/state",
        "/wrong/",
        f"/{server.token[:-1]}/state",
        page + "other",
        page + "../state",
        "/é/",
    ):
        wanted = path.encode("utf-8").decode("latin-1") if path != "/é/" else "/%C3%A9/"
        assert asked(server, wanted)[0] == 404
    for host in (
        "evil.example",
        f"evil.example:{server.port}",
        "127.0.0.1",
        f"localhost:{server.port}@evil",
        "",
    ):
        status, _, body = asked(server, page, Host=host)
        assert status == 421
        assert server.token.encode() not in body
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
        assert asked(server, page, method)[0] == 501
    assert asked(server, page, Host=f"localhost:{server.port}")[0] == 200


def test_it_listens_on_loopback_only(server: LiveServer) -> None:
    assert server.address.startswith(f"http://127.0.0.1:{server.port}/")
    assert server._server.server_address[0] == "127.0.0.1"
    assert len(server.token) >= 32
    with pytest.raises(UsageError, match="choose another"):
        LiveServer("a", server.port, 1.0)


def summary(timeouts: int = 0, fast: int = 0, sent: int = 1000, srtt_ms: float = 10.0) -> dict[str, Any]:
    again = dict.fromkeys(("timeout", "slow_start", "tail_loss_probe", "unneeded_probe"), 0)
    again |= {"unknown": 0, "handshake": 0, "fast": fast, "total": fast, "inferred": 0}
    one = {"endpoints": ["a", "b"], "srtt_ms": srtt_ms}
    return {
        "timeouts": {"total": timeouts},
        "retransmissions": again,
        "interval": {"bytes": sent, "busiest": [one]},
    }


def test_the_cause_is_that_of_the_interval_alone() -> None:
    seen = Intervals()
    told = [
        seen.cause(one)
        for one in (
            summary(),
            summary(timeouts=1, fast=3),
            summary(timeouts=1, fast=5),
            summary(timeouts=1, fast=5, srtt_ms=15.0),
            summary(timeouts=1, fast=5, srtt_ms=90.0),
            summary(timeouts=1, fast=5, sent=0),
        )
    ]
    kinds = ["unknown", "timeouts", "retransmissions", "unknown", "delay", "silence"]
    assert [one["kind"] for one in told] == kinds
    assert [one["retransmissions"] for one in told] == [0, 3, 2, 0, 0, 0]
    assert "not known" in told[0]["text"]
    assert told[2]["text"] == "2 retransmissions, mostly fast retransmit"
    assert "90 ms from a to b, minimum 10 ms" in told[4]["text"]


def test_probes_are_no_retransmissions() -> None:
    found = summary()
    found["retransmissions"]["unneeded_probe"] = 7
    told = Intervals().cause(found)
    assert (told["kind"], told["retransmissions"]) == ("unknown", 0)


@pytest.mark.parametrize("name", ["timeout", "fast", "slow_start", "tail_loss_probe", "handshake", "unknown"])
def test_each_cause_of_a_retransmission_has_words(name: str) -> None:
    found = summary()
    found["retransmissions"][name] = 1
    assert Intervals().cause(found)["text"].startswith("1 retransmission, mostly ")


def test_the_smallest_rtts_that_are_kept_are_bounded() -> None:
    seen = Intervals()
    for number in range(MOST_BASES + 5):
        found = summary()
        found["interval"]["busiest"][0]["endpoints"] = [str(number), "b"]
        seen.cause(found)
    assert len(seen._base_ms) == MOST_BASES
    assert ("0", "b") not in seen._base_ms


def test_clients_beyond_the_most_are_closed(server: LiveServer) -> None:
    held = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(MOST_CLIENTS)]
    try:
        with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_S) as late:
            assert late.recv(1) == b""
    finally:
        for one in held:
            one.close()


def test_errors_have_the_policy_too(server: LiveServer) -> None:
    status, headers, _ = asked(server, f"/{server.token}/", "POST")
    assert status == 501
    assert headers["Content-Security-Policy"].startswith("default-src 'none';")
    assert headers["X-Content-Type-Options"] == "nosniff"


def test_the_busiest_stay_when_nothing_is_sent(server: LiveServer, running: dict[str, Any]) -> None:
    server.tell(running)
    server.tell({**running, "interval": {**running["interval"], "busiest": []}})
    found = json.loads(asked(server, f"/{server.token}/state")[2])
    assert found["busiest"]["connections"] == json.loads(json.dumps(running["interval"]["busiest"]))
    assert len(found["history"]) == 2


def test_a_capture_names_its_cause(running: dict[str, Any]) -> None:
    cause = running["interval"]["cause"]
    assert cause["kind"] == "timeouts"
    assert cause["timeouts"] == running["timeouts"]["total"] == 3


def test_options_that_miss_their_partner() -> None:
    for words, wanted in (
        (["--serve"], "--serve needs --follow"),
        (["--port", "8080"], "--port needs --serve"),
        (["--follow", "--port", "8080"], "--port needs --serve"),
    ):
        outcome = CliRunner().invoke(group, ["analyze", str(CAPTURE), *words])
        assert isinstance(outcome.exception, UsageError)
        assert wanted in str(outcome.exception)


def test_the_page_updates_itself(tmp_path: Path) -> None:
    data = CAPTURE.read_bytes()
    path = tmp_path / f"{ATTACK.replace('/', '')}.pcap"
    path.write_bytes(data[:20_000])
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "multitracer",
            "analyze",
            "--follow",
            str(path),
            "--serve",
            "--interval",
            "0.2",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        found = re.search(r"http://127\.0\.0\.1:\d+/\S+/", process.stderr.readline())
        assert found is not None
        with browser(tmp_path / "profile") as context:
            page = context.new_page()
            dialogs: list[str] = []
            page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
            errors: list[str] = []
            page.on("pageerror", lambda error: errors.append(str(error)))
            page.on("console", lambda m: errors.append(m.text) if m.type == "error" else None)
            page.goto(found[0])
            page.wait_for_selector("html[data-ready]", state="attached")
            before = page.inner_text("#sofar")
            with path.open("ab") as file:
                file.write(data[20_000:])
            page.wait_for_function(
                "before => document.getElementById('sofar').innerText !== before", arg=before
            )
            page.wait_for_selector("#intervals li.timeouts", state="attached")
            assert page.locator("#busiest tr").count() == 1
            assert errors == []
            process.terminate()
            process.wait(timeout=PATIENCE_S)
            page.wait_for_selector("html.ended", state="attached")
            assert page.inner_text("#cause").startswith("Ended")
            assert dialogs == []
    finally:
        process.kill()
        process.communicate()
