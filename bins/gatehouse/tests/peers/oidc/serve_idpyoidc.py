"""Serves an OpenID provider with idpyoidc over TLS: serve_idpyoidc.py FOLDER

FOLDER has server.pem and server.key. Prints {"port"}; then reads commands from standard input, one JSON value a line:
"lastIdToken", or the arguments of `Provider.configure`. Answers each with a line. Ends with its input.
"""

import json
import logging
import ssl
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from idpyoidc_provider import Provider


def cookie_line(cookie):
    return f"{cookie['name']}={cookie['value']}; Path=/; Secure; HttpOnly; SameSite={cookie['samesite']}"


class Handler(BaseHTTPRequestHandler):
    """Translates between HTTP and idpyoidc."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.answer(urlsplit(self.path).query)

    def do_POST(self):
        self.answer(self.rfile.read(int(self.headers["Content-Length"])).decode())

    def answer(self, text):
        provider = self.server.provider
        pairs = [pair.strip().partition("=") for pair in self.headers.get("Cookie", "").split(";")]
        http_info = {
            "headers": {name.lower(): value for name, value in self.headers.items()},
            "method": self.command,
            "url": provider.issuer + self.path,
            "cookie": [{"name": name, "value": value} for name, _, value in pairs if name],
        }
        try:
            answer = provider.answer(urlsplit(self.path).path[1:], text, http_info)
        except Exception as error:
            logging.exception("%s %s", self.command, self.path)
            answer = 500, {"error": "server_error", "error_description": str(error)}
        if isinstance(answer, tuple):
            status, body = answer
            return self.send(status, json.dumps(body), [("Content-Type", "application/json")])
        if "http_response" in answer:
            return self.send(200, answer["http_response"], [("Content-Type", "text/html; charset=utf-8")])
        cookies = [("Set-Cookie", cookie_line(cookie)) for cookie in answer.get("cookie", [])]
        headers = [*answer["http_headers"], *cookies]
        if answer["response"].startswith("http"):
            return self.send(303, "", [*headers, ("Location", answer["response"])])
        return self.send(200, answer["response"], headers)

    def send(self, status, text, headers):
        body = text.encode()
        self.send_response(status)
        for name, value in [*headers, ("Content-Length", str(len(body)))]:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


def main(folder):
    logging.basicConfig(level=logging.WARNING)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{folder}/server.pem", f"{folder}/server.key")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    # The handshake happens in the thread of the connection, so that a silent client delays no other.
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    port = server.server_address[1]
    server.provider = Provider(f"https://localhost:{port}")
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(json.dumps({"port": port}), flush=True)
    for line in sys.stdin:
        command = json.loads(line)
        if command == "lastIdToken":
            answer = server.provider.last_id_token()
        else:
            answer = server.provider.configure(**command)
        print(json.dumps(answer), flush=True)


main(sys.argv[1])
