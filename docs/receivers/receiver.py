"""Receives signed webhooks. Listens on RECEIVER_PORT; WEBHOOK_SECRETS has the secrets, separated by commas."""

import hashlib
import hmac
import json
import math
import os
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

LARGEST_BODY = 1024 * 1024
TOLERANCE_SECONDS = 300
# Event IDs to remember. A service stores them in its database, together with its work.
REMEMBERED = 10_000

# Refuse an unset or short secret: anybody could sign with it.
secrets = os.environ.get("WEBHOOK_SECRETS", "").split(",")
if not all(re.fullmatch(r"whsec_[A-Za-z0-9+/]{32,}={0,2}", secret) for secret in secrets):
    raise SystemExit("WEBHOOK_SECRETS: write one or more whsec_… secrets, separated by commas")
seen = {}
lock = threading.Lock()


def is_genuine(timestamp, signature, body):
    try:
        seconds = float(timestamp)
    except ValueError:
        return False
    if not math.isfinite(seconds) or abs(time.time() - seconds) > TOLERANCE_SECONDS:
        return False
    # Sign the raw bytes: JSON that was parsed and serialized again differs.
    message = timestamp.encode() + b"." + body
    digests = (hmac.new(secret.encode(), message, hashlib.sha256).hexdigest() for secret in secrets)
    return any(hmac.compare_digest(f"v1={digest}".encode(), signature.encode()) for digest in digests)


def take(event_id):
    """Prints an event ID once. Requests are concurrent, also with the same event."""
    with lock:
        if event_id in seen:
            return
        seen[event_id] = True
        if len(seen) > REMEMBERED:
            del seen[next(iter(seen))]
        print(event_id, flush=True)  # Store the event here; process it after the response.


class Receiver(BaseHTTPRequestHandler):
    timeout = 15

    def do_POST(self):
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or len(length) > 7 or int(length) > LARGEST_BODY:
            return self.answer(413, {"error": "the body is too large or has no Content-Length"})
        body = self.rfile.read(int(length))
        timestamp = self.headers.get("X-Service-Timestamp", "")
        if not is_genuine(timestamp, self.headers.get("X-Service-Signature", ""), body):
            problem = {"error": "the signature does not verify", "code": "WEBHOOK_INVALID_SIGNATURE"}
            return self.answer(401, problem)
        # Take the ID from the body: X-Service-Event-Id is not signed.
        take(json.loads(body)["id"])
        return self.answer(204)

    def answer(self, status, problem=None):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        if problem:
            self.wfile.write(json.dumps(problem).encode())

    def log_message(self, *_):
        """Logs no request."""


server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("RECEIVER_PORT", "4000"))), Receiver)
print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
