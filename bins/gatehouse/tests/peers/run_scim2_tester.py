"""Runs every check of scim2-tester against a server: SCIM_TOKEN=... run_scim2_tester.py BASE_URL LEAST

Ends with 1 if a check fails or is skipped, or if there were fewer than LEAST checks. The tester stops
early without an error if it cannot read the server's discovery endpoints.
"""

import collections
import os
import sys

import httpx2
from scim2_client.engines.httpx2 import SyncSCIMClient
from scim2_tester import Status, check_server

base_url, least = sys.argv[1], int(sys.argv[2])
headers = {"Authorization": f"Bearer {os.environ['SCIM_TOKEN']}"}
results = check_server(SyncSCIMClient(httpx2.Client(base_url=base_url, headers=headers, timeout=30)))

failed = [result for result in results if result.status != Status.SUCCESS]
for result in failed:
    print(f"{result.status.name} {result.title} {result.resource_type or ''}: {result.reason}\n  {result.data!r:.2000}")
counts = collections.Counter(result.status.name for result in results)
print(f"scim2-tester: {len(results)} checks, " + ", ".join(f"{count} {name}" for name, count in counts.items()))
sys.exit(1 if failed or len(results) < least else 0)
