"""A server that takes what wandb sends, on this machine: GraphQL, answered as far as wandb asks, and the stream of a run's files."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

BUCKET = {
    "id": "bucket",
    "name": "run",
    "displayName": "run",
    "description": "",
    "config": "{}",
    "sweepName": None,
    "historyLineCount": 0,
    "project": {"id": "project", "name": "ada", "entity": {"id": "entity", "name": "someone"}},
}
VIEWER = {"id": "viewer", "entity": "someone", "username": "someone", "flags": "{}", "teams": {"edges": []}}
ANSWERS: dict[str, Any] = {  # by a field that the query asks for
    "upsertView": {"upsertView": {"view": {"id": "view", "name": "nw-view-v"}, "inserted": True}},
    "upsertBucket": {"upsertBucket": {"bucket": BUCKET, "inserted": True}},
    "createRunFiles": {"createRunFiles": {"runID": "bucket", "uploadHeaders": [], "files": []}},
    "viewer": {"viewer": VIEWER},
}


class Received:
    def __init__(self) -> None:
        self.url = ""
        self.queries: list[tuple[str, dict[str, Any]]] = []
        self.streams: list[dict[str, Any]] = []

    def variables_of(self, field: str) -> dict[str, Any]:
        """Of the last query that asked for it."""
        return [variables for query, variables in self.queries if field in query][-1]

    def history(self) -> list[dict[str, Any]]:
        files = [stream["files"] for stream in self.streams if stream.get("files")]
        return [json.loads(line) for of in files for line in of.get("wandb-history.jsonl", {}).get("content", [])]


@contextmanager
def wandb_server() -> Iterator[Received]:
    received = Received()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.answer({})

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            if self.path.endswith("/graphql"):
                asked = json.loads(body)
                received.queries.append((asked["query"], asked.get("variables") or {}))
                self.answer({"data": next((answer for field, answer in ANSWERS.items() if field in asked["query"]), {})})
            else:
                if self.path.endswith("/file_stream"):
                    received.streams.append(json.loads(body))
                self.answer({})  # its telemetry, too

        do_PUT = do_POST

        def answer(self, content: dict[str, Any]) -> None:
            body = json.dumps(content).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    received.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield received
    server.shutdown()
