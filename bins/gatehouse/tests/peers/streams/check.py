"""Sends log streams to rsyslog, and to receivers of lines, Splunk's events, OTLP logs and files, while both sides are killed.

check.py FOLDER ROUNDS, with PROGRAM, TENANT, PAT, SCIM and the server's own variables. In each round the server or the
receivers are killed (SIGKILL) while the log grows. At the end no receiver lacks an entry.
"""

import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

folder, rounds = Path(sys.argv[1]), int(sys.argv[2])
program, tenant, pat, scim = (os.environ[name] for name in ("PROGRAM", "TENANT", "PAT", "SCIM"))
STREAMS = "/api/settings/log-streams"


def free_port():
    """Returns a free port outside the ephemeral range, so that it can be used again after a restart."""
    while True:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as tried:
            try:
                tried.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


def await_port(port):
    deadline = time.monotonic() + 30
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            assert time.monotonic() < deadline, port
            time.sleep(0.05)


class Process:
    """A program that can be killed and started again."""

    def __init__(self, port, *words):
        self.port, self.words = port, words
        self.start()

    def start(self):
        log = open(folder / f"{Path(self.words[0]).name}-{self.port}.log", "ab")
        self.running = subprocess.Popen(self.words, stdout=log, stderr=log)
        await_port(self.port)

    def kill(self):
        self.running.send_signal(signal.SIGKILL)
        self.running.wait()


def openssl(*words):
    subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)


def certificates():
    """Creates a certificate authority, and certificates of the receiver and of the server."""
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "ca.key",
            "-out", "ca.pem", "-days", "2", "-subj", "/CN=Test CA")
    for name, extension in (("rsyslog", "subjectAltName=DNS:localhost"), ("client", "subjectAltName=DNS:gatehouse.test")):
        (folder / f"{name}.ext").write_text(extension)
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", f"{name}.key",
                "-out", f"{name}.csr", "-subj", f"/CN={name}")
        openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
                "-days", "2", "-extfile", f"{name}.ext", "-out", f"{name}.pem")


def rsyslog(port):
    config = folder / "rsyslog.conf"
    config.write_text(f"""
global(workDirectory="{folder}" maxMessageSize="64k" DefaultNetstreamDriver="ossl"
  DefaultNetstreamDriverCAFile="{folder}/ca.pem"
  DefaultNetstreamDriverCertFile="{folder}/rsyslog.pem"
  DefaultNetstreamDriverKeyFile="{folder}/rsyslog.key")
module(load="imtcp" StreamDriver.Name="ossl" StreamDriver.Mode="1" StreamDriver.AuthMode="x509/name"
  PermittedPeer="gatehouse.test")
template(name="audit" type="string" string="%msg%\\n")
ruleset(name="audit" queue.type="Direct") {{
  action(type="omfile" file="{folder}/syslog.ndjson" template="audit")
}}
input(type="imtcp" port="{port}" ruleset="audit")
""".replace("\\\\n", "\\n"))
    return Process(port, "rsyslogd", "-n", "-f", str(config), "-i", str(folder / "rsyslog.pid"))


def request(method, path, body=None, token=pat):
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    made = urllib.request.Request(f"http://127.0.0.1:{server.port}{path}", data, headers, method=method)
    with urllib.request.urlopen(made, timeout=30) as response:
        return json.load(response)


def create_users(stop):
    """Lets the log grow until it is stopped. Requests fail while the server is down."""
    number = 0
    while not stop.is_set():
        number += 1
        try:
            request("POST", "/api/scim/v2/Users", {"userName": f"user{number}-{time.monotonic_ns()}@example.com"}, scim)
        except (OSError, urllib.error.URLError):
            time.sleep(0.05)


def streams(syslog_port, http_port):
    """Creates a stream of each type, and returns their paths."""
    base = f"http://127.0.0.1:{http_port}"
    text = lambda name: (folder / name).read_text()
    bodies = [
        {"type": "HTTPS", "url": f"{base}/lines"},
        {"type": "SPLUNK_HEC", "url": base, "secret": "hec-token"},
        {"type": "OTLP", "url": base, "header": "Authorization", "secret": "Bearer otlp"},
        {"type": "S3", "url": base, "bucket": "logs", "region": "eu-central-1", "prefix": "audit/",
         "accessKeyId": "AKIAEXAMPLE", "secret": "a secret access key"},
        {"type": "SYSLOG", "url": f"syslog+tls://localhost:{syslog_port}", "caCertificates": text("ca.pem"),
         "clientCertificate": text("client.pem"), "secret": text("client.key")},
    ]
    made = [request("POST", STREAMS, {"name": body["type"], "from": 0, **body}) for body in bodies]
    return {stream["type"]: f"{STREAMS}/{stream['id']}" for stream in made}


def await_all(paths):
    """Waits until each stream has sent the whole log. A change of a stream makes its next attempt due at once."""
    deadline = time.monotonic() + 120
    for kind, path in paths.items():
        changed = 0
        while (shown := request("GET", path))["waiting"] > 0:
            assert time.monotonic() < deadline, shown
            # Not too often: a change also ends the batch that is being sent.
            if "problem" in shown and time.monotonic() > changed + 10:
                changed = time.monotonic()
                request("PATCH", path, {"name": f"{kind} {time.monotonic_ns()}"})
            time.sleep(0.3)


def verify(name):
    """Verifies what a receiver has kept, and returns the report."""
    key = subprocess.run([program, "audit", "key", "--tenant", tenant], capture_output=True, text=True, check=True)
    words = [program, "audit", "verify", "--stream", str(folder / name), "--key", key.stdout, "--json"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, (name, done.stdout[:2000], done.stderr)
    return json.loads(done.stdout)


certificates()
syslog_port, http_port, server_port = free_port(), free_port(), free_port()
receivers = [rsyslog(syslog_port), Process(http_port, sys.executable, str(Path(__file__).with_name("receiver.py")),
                                           str(http_port), str(folder))]
os.environ["GATEHOUSE_BIND"] = f"127.0.0.1:{server_port}"
server = Process(server_port, program, "serve")
paths = streams(syslog_port, http_port)
for path in paths.values():
    tested = request("POST", f"{path}/test")
    assert tested["accepted"], tested

stop = threading.Event()
growing = threading.Thread(target=create_users, args=(stop,))
growing.start()
for number in range(rounds):
    # Often enough for kills in the middle of a batch.
    time.sleep(random.uniform(0.5, 2.5))
    for killed in [server] if number % 2 == 0 else receivers:
        killed.kill()
        killed.start()
stop.set()
growing.join()
await_all(paths)
(folder / "s3.ndjson").write_bytes(b"".join(file.read_bytes() for file in sorted((folder / "s3").glob("*.ndjson.gz"))))
for name in ("https", "hec", "otlp", "s3", "syslog"):
    report = verify(f"{name}.ndjson")
    assert report["sequences"][0] == 0 and report["proved"] > 0, report
    assert report["entries"] == report["proved"] or report["entries"] > report["proved"] > 0.5 * report["entries"], report
    print(f"{name}: {report['entries']} entries, {report['duplicates']} received again, {report['proved']} proved", flush=True)
for process in [*receivers, server]:
    process.kill()
