"""A webhook receiver with the Python package of Standard Webhooks.

It has the same settings as the receivers of the documentation.
"""

import json
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from standardwebhooks.webhooks import Webhook

webhooks = [Webhook(secret) for secret in os.environ["WEBHOOK_SECRETS"].split(",")]
seen = set()
lock = threading.Lock()


def is_genuine(webhook, body, headers):
    try:
        webhook.verify(body, headers)
    # The package does not catch the errors of invalid base64 and UTF-8.
    except Exception:
        return False
    return True


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if not any(is_genuine(webhook, body, dict(self.headers)) for webhook in webhooks):
            problem = {"error": "the signature does not verify", "code": "WEBHOOK_INVALID_SIGNATURE"}
            return self.answer(401, json.dumps(problem))
        event_id = self.headers["webhook-id"]
        with lock:
            if event_id not in seen:
                seen.add(event_id)
                print(event_id, flush=True)
        return self.answer(204, "")

    def answer(self, status, body):
        self.send_response(status)
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", int(os.environ["RECEIVER_PORT"])), Receiver)
print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
