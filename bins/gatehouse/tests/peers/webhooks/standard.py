"""Receives webhooks with the package that Standard Webhooks publish for Python.

The same settings as the receivers of the documentation have.
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
    # What is no base64, or no UTF-8, it leaves to its caller.
    except Exception:
        return False
    return True


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if not any(is_genuine(webhook, body, dict(self.headers)) for webhook in webhooks):
            told = {"error": "the signature does not verify", "code": "WEBHOOK_INVALID_SIGNATURE"}
            return self.answer(401, json.dumps(told))
        event_id = self.headers["webhook-id"]
        with lock:
            if event_id not in seen:
                seen.add(event_id)
                print(event_id, flush=True)
        return self.answer(204, "")

    def answer(self, status, told):
        self.send_response(status)
        self.end_headers()
        self.wfile.write(told.encode())

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", int(os.environ["RECEIVER_PORT"])), Receiver)
print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
