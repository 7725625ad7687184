"""Any chat model behind an OpenAI-compatible endpoint as the judge (vLLM, llama.cpp, Ollama, a hosted one).

httpx is used rather than the `openai` client: the size of an answer and the time that one takes must be
bounded here, since the endpoint may be anybody's.
"""

import asyncio
import json
import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal

import httpx
from pydantic import Field, field_validator

from turncoat.platform.config.errors import BadInput
from turncoat.platform.judges import prompt, verdict
from turncoat.platform.judges.base import MAX_KEPT_CHARS, Case, Judge, JudgeSettings, Ruling

MAX_BYTES = 1 << 18
"""Of an answer; a longer one is an error, and the rest is not read."""
PAUSE = 0.5
"""Seconds before the first retry; twice as many before each further one."""
WORTH_A_RETRY = frozenset({408, 409, 425, 429, 500, 502, 503, 504})


class Refused(Exception):
    """The endpoint gave no verdict. again: whether another try may help."""

    def __init__(self, reason: str, again: bool):
        super().__init__(reason)
        self.again = again


class OpenAIJudge(Judge):
    """A chat model that an HTTP endpoint serves by the protocol `POST {base_url}/chat/completions`.

    What cannot be asked is an "error" or a "timeout", never a "no".
    """

    class Settings(JudgeSettings):
        kind: Literal["openai"] = "openai"
        base_url: str = Field(pattern=r"^https?://\S+$")
        """Up to and with the version, e.g. `http://localhost:8000/v1`."""
        model: str
        """The model's name at the endpoint."""
        api_key_env: str | None = None
        """Name of the environment variable that holds the key; the key itself is in no config."""
        max_new_tokens: int = Field(512, ge=1)
        """Length of a verdict. One that does not end in time is malformed."""
        top_k: int | None = Field(None, ge=1)
        """Sent where set: the protocol has no top k, but vLLM and others read it. Beams it has not either."""
        timeout_s: float = Field(30.0, gt=0)
        """Seconds for one verdict, all tries together."""
        retries: int = Field(2, ge=0, le=10)
        """Further tries after a refused connection, a broken answer, or a status such as 429 or 500."""
        concurrency: int = Field(8, ge=1, le=256)
        """Requests under way at once."""

        @field_validator("base_url")
        @classmethod
        def base_url_names_a_host(cls, url: str) -> str:
            try:
                parts = httpx.URL(url)
                named = bool(parts.host) and (parts.port is None or 0 < parts.port < 1 << 16)
            except (httpx.InvalidURL, UnicodeError):  # the second: a host that has no international form
                named = False
            if not named:
                raise ValueError("no address of a host; allowed is e.g. http://localhost:8000/v1")
            return url

    settings: Settings

    def __init__(self, settings: Settings):
        """Raises BadInput if the variable that is to hold the key is not set, or holds what is no key."""
        super().__init__(settings)
        self.headers = {"Accept-Encoding": "identity"}  # a small answer must not unpack into a huge one
        if settings.api_key_env is not None:
            key = os.environ.get(settings.api_key_env)
            if not key:
                raise BadInput(
                    f"api_key_env is {settings.api_key_env!r}: no such environment variable is set, allowed "
                    "is the name of one that holds the key"
                )
            if not (key.isascii() and key.isprintable()):
                raise BadInput(
                    f"api_key_env is {settings.api_key_env!r}, which holds more than printable ASCII "
                    "characters (a line's end?): allowed is a key alone"
                )
            self.headers["Authorization"] = f"Bearer {key}"

    def rule(self, cases: Sequence[Case]) -> list[Ruling]:
        # A thread of its own: the caller's may be running an event loop already.
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(asyncio.run, self._rule_all(cases)).result()

    async def _rule_all(self, cases: Sequence[Case]) -> list[Ruling]:
        turns = asyncio.Semaphore(self.settings.concurrency)
        # The deadline below bounds the whole; httpx's own limits bound only single reads.
        async with httpx.AsyncClient(headers=self.headers, timeout=None) as client:

            async def in_turn(case: Case) -> Ruling:
                async with turns:
                    return await self._rule(client, case)

            return await asyncio.gather(*map(in_turn, cases))

    async def _rule(self, client: httpx.AsyncClient, case: Case) -> Ruling:
        begun = time.perf_counter()
        outcome: verdict.Outcome | Literal["error", "timeout"]
        try:
            async with asyncio.timeout(self.settings.timeout_s):
                text = await self._ask(client, case)
            outcome = verdict.parse(text)
        except TimeoutError:
            outcome, text = "timeout", f"no answer in {self.settings.timeout_s} s"
        except Refused as refusal:
            outcome, text = "error", str(refusal)
        # JSON may spell lone surrogates, which are no text and could not be logged.
        kept = text[:MAX_KEPT_CHARS].encode("utf-8", "replace").decode()
        return Ruling(outcome, kept, time.perf_counter() - begun)

    async def _ask(self, client: httpx.AsyncClient, case: Case) -> str:
        body = self._body(case)
        for again in range(self.settings.retries + 1):
            try:
                return await self._once(client, body)
            except Refused as refusal:
                if not refusal.again or again == self.settings.retries:
                    raise
                await asyncio.sleep(PAUSE * 2**again)
        raise AssertionError("the last try returns or raises")

    async def _once(self, client: httpx.AsyncClient, body: dict[str, Any]) -> str:
        url = f"{self.settings.base_url.rstrip('/')}/chat/completions"
        try:
            async with client.stream("POST", url, json=body) as response:
                if response.status_code != 200:
                    raise Refused(f"status {response.status_code}", response.status_code in WORTH_A_RETRY)
                answer = bytearray()
                async for chunk in response.aiter_raw():
                    answer += chunk
                    if len(answer) > MAX_BYTES:
                        raise Refused(f"an answer of more than {MAX_BYTES} bytes", False)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise Refused(f"{type(error).__name__}: {error}", True) from error
        return _content(bytes(answer))

    def _body(self, case: Case) -> dict[str, Any]:
        settings = self.settings
        body = {
            "model": settings.model,
            "messages": prompt.messages(case.question, case.solution, settings.max_chars),
            "temperature": settings.temperature,
            "top_p": settings.top_p,
            "max_tokens": settings.max_new_tokens,
            "seed": case.seed % 2**31,
        }
        return body if settings.top_k is None else {**body, "top_k": settings.top_k}


def _content(answer: bytes) -> str:
    """The text of a chat completion. Raises Refused if the answer is none."""
    try:
        text = json.loads(answer)["choices"][0]["message"]["content"]
    except (ValueError, KeyError, IndexError, TypeError, RecursionError) as error:
        raise Refused("an answer that is no chat completion", True) from error
    if not isinstance(text, str):
        raise Refused("an answer without text", True)
    return text
