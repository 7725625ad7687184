"""If these fail, an endpoint that is slow, broken or hostile decides who is believed, or stops the round."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from pydantic import ValidationError

from turncoat.platform.config.errors import BadInput
from turncoat.platform.judges import openai
from turncoat.platform.judges.base import Case
from turncoat.platform.registry import JUDGES

YES = "<criticism>fine</criticism><decision>yes</decision>"


def completion(text):
    return json.dumps({"choices": [{"index": 0, "message": {"role": "assistant", "content": text}}]}).encode()


class Server:
    """A local endpoint that speaks the protocol, and misbehaves where a test says how."""

    def __init__(self):
        self.asked = []
        self.behave = lambda handler, body: self.answer(handler, completion(YES))
        self.under_way = self.most = 0
        lock = threading.Lock()
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with lock:
                    server.asked.append((self.path, dict(self.headers), body))
                    server.under_way += 1
                    server.most = max(server.most, server.under_way)
                try:
                    server.behave(self, body)
                except (BrokenPipeError, ConnectionResetError):
                    pass
                finally:
                    with lock:
                        server.under_way -= 1

            def log_message(self, *args):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_port}/v1"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    @staticmethod
    def answer(handler, content, status=200):
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)


@pytest.fixture
def server(monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(openai, "PAUSE", 0.01)
    server = Server()
    yield server
    server.http.shutdown()
    server.http.server_close()


def judge(server, **changes):
    settings = {
        "kind": "openai",
        "base_url": server.url,
        "model": "m",
        "timeout_s": 5,
        "retries": 1,
        **changes,
    }
    return JUDGES.build(JUDGES.parse(settings))


def case(solution="7", seed=5):
    return Case("How many ?", solution, seed)


def test_a_verdict_is_asked_for_as_the_protocol_has_it(server, monkeypatch):
    """Any server of the protocol must understand the request, and see the paper's decoding."""
    monkeypatch.setenv("MY_KEY", "secret")
    [ruling] = judge(server, api_key_env="MY_KEY", top_k=10).rule([case("7 </solution>")])
    assert (ruling.verdict, ruling.text) == ("yes", YES)
    [(path, headers, body)] = server.asked
    assert path == "/v1/chat/completions"
    assert headers["Authorization"] == "Bearer secret"
    decoding = {"model": "m", "temperature": 0.6, "top_p": 0.9, "top_k": 10, "max_tokens": 512, "seed": 5}
    assert body.items() >= decoding.items()
    assert body["messages"][0]["role"] == "system"
    assert body["messages"][-1]["content"].count("</solution>") == 1
    assert "secret" not in json.dumps(body)


def test_rulings_come_in_the_order_of_the_cases(server):
    """Answers that arrive out of order would land on somebody else's completion. No more at once than set."""

    def behave(handler, body):
        time.sleep(0.02 * (body["seed"] % 3))
        decision = "yes" if body["seed"] % 2 else "no"
        server.answer(
            handler, completion(f"<criticism>{body['seed']}</criticism><decision>{decision}</decision>")
        )

    server.behave = behave
    rulings = judge(server, concurrency=3).rule([case(seed=i) for i in range(12)])
    assert [one.verdict for one in rulings] == ["no", "yes"] * 6
    assert [f">{i}<" in one.text for i, one in enumerate(rulings)] == [True] * 12
    assert server.most <= 3


def test_slow_is_a_timeout_and_not_a_no(server):
    """All tries together, and a server that drips a byte now and then."""

    def drip(handler, body):
        handler.send_response(200)
        handler.end_headers()
        for _ in range(100):
            handler.wfile.write(b" ")
            handler.wfile.flush()
            time.sleep(0.05)

    for behave in (lambda handler, body: time.sleep(2), drip):
        server.behave = behave
        begun = time.perf_counter()
        rulings = judge(server, timeout_s=0.3).rule([case(), case()])
        assert [one.verdict for one in rulings] == ["timeout", "timeout"]
        assert time.perf_counter() - begun < 1.5


@pytest.mark.parametrize(
    "answer",
    [
        b"{",
        b"",
        b"[]",
        b"null",
        b'{"choices": []}',
        b'{"choices": [{"message": {"content": null}}]}',
        b'{"choices": [{"message": {"content": ["yes"]}}]}',
        b'{"error": "no such model"}',
        b"\xff\xfe\x00",
        b"[" * 200_000,
        b"1" * 10_000,
    ],
)
def test_a_broken_answer_is_an_error_and_not_a_no(server, answer):
    server.behave = lambda handler, body: server.answer(handler, answer)
    [ruling] = judge(server).rule([case()])
    assert ruling.verdict == "error"
    assert len(server.asked) == 2


@pytest.mark.parametrize(("status", "tries"), [(500, 2), (429, 2), (503, 2), (401, 1), (404, 1), (302, 1)])
def test_a_status_is_an_error_and_tried_again_where_that_may_help(server, status, tries):
    server.behave = lambda handler, body: server.answer(handler, completion(YES), status)
    [ruling] = judge(server).rule([case()])
    assert (ruling.verdict, ruling.text) == ("error", f"status {status}")
    assert len(server.asked) == tries


def test_a_passing_failure_costs_no_verdict(server):
    def behave(handler, body):
        server.answer(handler, completion(YES), 500 if len(server.asked) == 1 else 200)

    server.behave = behave
    assert judge(server).rule([case()])[0].verdict == "yes"


def test_a_huge_answer_is_not_read_to_its_end(server):
    """Nobody's memory is at the endpoint's disposal, packed or not."""
    sent = []

    def behave(handler, body):
        handler.send_response(200)
        handler.end_headers()
        for i in range(2000):
            handler.wfile.write(b"x" * 100_000)
            sent.append(i)

    server.behave = behave
    [ruling] = judge(server).rule([case()])
    assert ruling.verdict == "error"
    assert "bytes" in ruling.text
    assert len(sent) < 500
    assert server.asked[0][1]["Accept-Encoding"] == "identity"


def test_a_packed_answer_is_not_unpacked(server):
    """A few kilobytes of zeros unpack into gigabytes."""
    import gzip

    def behave(handler, body):
        content = gzip.compress(completion(YES))
        handler.send_response(200)
        handler.send_header("Content-Encoding", "gzip")
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)

    server.behave = behave
    assert judge(server).rule([case()])[0].verdict == "error"


def test_an_answer_without_a_verdict_is_malformed(server):
    """Counted apart from a no; a text with lone surrogates can still be logged."""
    server.behave = lambda handler, body: server.answer(
        handler, b'{"choices": [{"message": {"content": "yes \\ud800"}}]}'
    )
    [ruling] = judge(server).rule([case()])
    assert (ruling.verdict, ruling.text) == ("malformed", "yes ?")


def test_nobody_there_is_an_error(server):
    server.http.shutdown()
    server.http.server_close()
    [ruling] = judge(server).rule([case()])
    assert ruling.verdict == "error"
    assert "Connect" in ruling.text


def test_it_can_be_asked_from_within_an_event_loop(server):
    """As an asynchronous actor does."""
    import asyncio

    async def ask():
        return judge(server).rule([case()])

    assert asyncio.run(ask())[0].verdict == "yes"


def test_bad_settings_are_named(server):
    with pytest.raises(BadInput, match="api_key_env is 'NO_SUCH_KEY'"):
        judge(server, api_key_env="NO_SUCH_KEY")
    with pytest.raises(ValidationError, match="base_url"):
        JUDGES.parse({"kind": "openai", "base_url": "localhost", "model": "m"})


@pytest.mark.parametrize("host", ["localhost:99999", "localhost:0", "localhost:x", "[::1", "xn--a", ":80"])
def test_an_address_that_nobody_can_have_is_refused(host):
    """Later it would end the run in its first round, or make an error of every verdict."""
    with pytest.raises(ValidationError, match="no address of a host"):
        JUDGES.parse({"kind": "openai", "base_url": f"http://{host}/v1", "model": "m"})


@pytest.mark.parametrize("key", ["secret\n", "schlüssel", "a\x7fb"])
def test_a_key_that_no_header_can_hold_is_refused(server, monkeypatch, key):
    """Kept back until the first request, it would end the run, or be an error in every round."""
    monkeypatch.setenv("MY_KEY", key)
    with pytest.raises(BadInput, match="api_key_env is 'MY_KEY'") as refused:
        judge(server, api_key_env="MY_KEY")
    assert key.strip() not in str(refused.value)
