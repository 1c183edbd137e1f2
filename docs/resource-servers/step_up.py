"""A payroll service that requires a step-up, as RFC 9470 describes. Listens on 127.0.0.1, PORT. GATEHOUSE is the address of
Gatehouse, which must trust this service as a proxy. TENANT is the ID of the tenant whose payroll this is."""

import http.client
import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

PURPOSE = "PAYROLL_SEAL"
GATEHOUSE, TENANT = urlsplit(os.environ["GATEHOUSE"]), os.environ["TENANT"]
CONNECTION = http.client.HTTPSConnection if GATEHOUSE.scheme == "https" else http.client.HTTPConnection
# The challenge of RFC 9470, section 3. Clients ask Gatehouse for a step-up with the purpose in `acr_values`.
CHALLENGE = (
    'Bearer error="insufficient_user_authentication", error_description="This action requires a step-up", '
    f'acr_values="{PURPOSE}", max_age="60"'
)


def consume(headers, address):
    """Consumes the step-up token of a request at Gatehouse, and returns the status and the body of the answer."""
    sent = [("Content-Type", "application/json"), ("X-Forwarded-For", address)]
    sent += [(name, value) for name in ("Cookie", "X-StepUp-Token") for value in headers.get_all(name, [])]
    body = json.dumps({"purpose": PURPOSE}).encode()
    connection = CONNECTION(GATEHOUSE.hostname, GATEHOUSE.port, timeout=5)
    try:
        connection.putrequest("POST", "/api/auth/step-up/consume")
        for name, value in [*sent, ("Content-Length", str(len(body)))]:
            connection.putheader(name, value)
        connection.endheaders(body)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def refusal(headers, address):
    """Returns status, body and challenge with which to refuse a request, or None if the service may act."""
    try:
        status, proof = consume(headers, address)
    except (OSError, ValueError, http.client.HTTPException):
        return 503, {"error": "temporarily_unavailable"}, None  # Without an answer, do not act.
    if status == 401 and proof.get("code") in ("STEP_UP_REQUIRED", "STEP_UP_INVALID"):
        return 401, {"error": "insufficient_user_authentication", "reason": proof.get("reason")}, CHALLENGE
    if status == 401:
        return 401, {"error": "unauthenticated"}, "Bearer"
    if status != 200:
        print(f"Gatehouse answered {status}: {proof.get('error')}", file=sys.stderr)
    # A step-up for another purpose, or in another tenant, does not authorize this payroll.
    expected = {"authorized": True, "purpose": PURPOSE, "tenantId": TENANT}
    if status != 200 or any(proof.get(name) != value for name, value in expected.items()):
        return 403, {"error": "access_denied"}, None
    return None


class Payroll(BaseHTTPRequestHandler):
    timeout = 15

    def do_POST(self):
        if self.path != "/payroll/seal":
            return self.answer(404, {"error": "not_found"})
        if refused := refusal(self.headers, self.client_address[0]):
            return self.answer(*refused)
        print("sealed", flush=True)  # The action, once per step-up.
        return self.answer(200, {"sealed": True})

    def answer(self, status, body, challenge=None):
        text = json.dumps(body).encode()
        self.send_response(status)
        if challenge:
            self.send_header("WWW-Authenticate", challenge)
        self.send_header("Content-Type", "application/json")
        self.send_header("Cache-Control", "no-store")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        """Logs nothing: requests contain cookies."""


class Server(ThreadingHTTPServer):
    request_queue_size = 64


server = Server(("127.0.0.1", int(os.environ.get("PORT", "8082"))), Payroll)
print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
