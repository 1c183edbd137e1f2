"""Receives log streams over HTTP, and appends their events to files before it responds.

receiver.py PORT FOLDER: lines of JSON, Splunk's HTTP Event Collector, OTLP logs, and object storage.
"""

import gzip
import json
import sys
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import botocore.auth
from botocore.auth import S3SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import (
    ExportLogsServiceRequest,
    ExportLogsServiceResponse,
)

port, folder = int(sys.argv[1]), Path(sys.argv[2])
ACCESS_KEY, SECRET_KEY, REGION = "AKIAEXAMPLE", "a secret access key", "eu-central-1"
TOKEN, BEARER = "hec-token", "Bearer otlp"


def append(name, lines):
    with open(folder / name, "ab") as file:
        file.write(lines)


def plain(value):
    """Returns the JSON value of an AnyValue."""
    kind, of = next(iter(value.items()), ("nullValue", None))
    if kind == "kvlistValue":
        return {one["key"]: plain(one.get("value", {})) for one in of.get("values", [])}
    if kind == "arrayValue":
        return [plain(one) for one in of.get("values", [])]
    return int(of) if kind == "intValue" else of


def is_signed(method, url, host):
    """Whether botocore computes the signature in a URL, too."""
    parts = urlsplit(url)
    query = {name: values[0] for name, values in parse_qs(parts.query).items()}
    signer = S3SigV4QueryAuth(Credentials(ACCESS_KEY, SECRET_KEY), "s3", REGION, int(query["X-Amz-Expires"]))
    at = datetime.strptime(query["X-Amz-Date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=timezone.utc)
    assert abs((datetime.now(timezone.utc) - at).total_seconds()) < 300, at
    request = AWSRequest(method, f"http://{host}{parts.path}", headers={"Host": host})
    botocore.auth.get_current_datetime = lambda *words, **named: at.replace(tzinfo=None)
    signer.add_auth(request)
    expected = parse_qs(urlsplit(request.url).query)["X-Amz-Signature"][0]
    return expected == query["X-Amz-Signature"]


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def respond(self, status, body=b"", kind="application/json"):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/lines":
            append("https.ndjson", body)
            self.respond(204)
        elif self.path == "/services/collector/event":
            if self.headers["Authorization"] != f"Splunk {TOKEN}":
                return self.respond(401)
            append("hec.ndjson", body)
            self.respond(200, b'{"text":"Success","code":0}')
        elif self.path == "/v1/logs":
            if self.headers["Authorization"] != BEARER:
                return self.respond(401)
            records = MessageToDict(ExportLogsServiceRequest.FromString(body))["resourceLogs"][0]["scopeLogs"][0]["logRecords"]
            events = [plain(record["body"]) for record in records]
            for record, event in zip(records, events):
                assert record["eventName"] == event["metadata"]["event_code"], record
                assert int(record["timeUnixNano"]) == event["time"] * 1_000_000, record
            append("otlp.ndjson", "".join(json.dumps(event) + "\n" for event in events).encode())
            self.respond(200, ExportLogsServiceResponse().SerializeToString(), "application/x-protobuf")
        else:
            self.respond(404)

    def do_PUT(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if not is_signed("PUT", self.path, self.headers["Host"]):
            return self.respond(403, b"SignatureDoesNotMatch")
        assert self.headers["Content-Encoding"] == "gzip", self.headers
        name = urlsplit(self.path).path.removeprefix("/logs/").replace("/", "_")
        new = folder / "s3" / f"{name}.new"
        new.write_bytes(gzip.decompress(body))
        new.rename(folder / "s3" / name)
        self.respond(200)

    def log_message(self, *words):
        pass


(folder / "s3").mkdir(exist_ok=True)
ThreadingHTTPServer(("127.0.0.1", port), Receiver).serve_forever()
