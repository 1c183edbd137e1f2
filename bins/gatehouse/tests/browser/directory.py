"""Provisions a user and a group with scim2-client, as a directory does: SCIM_TOKEN=... directory.py BASE_URL."""
import os, sys

import httpx2
from scim2_client.engines.httpx2 import SyncSCIMClient

headers = {"Authorization": f"Bearer {os.environ['SCIM_TOKEN']}"}
client = SyncSCIMClient(httpx2.Client(base_url=sys.argv[1], headers=headers, timeout=30))
client.discover()
User, Group = client.get_resource_model("User"), client.get_resource_model("Group")
emails = [{"value": "iris@corp.example", "primary": True}]
iris = client.create(User(user_name="iris@corp.example", external_id="iris", display_name="Iris", emails=emails))
client.create(Group(display_name="Engineers", members=[{"value": iris.id}]))
found = client.query(User, iris.id)
assert found.user_name == "iris@corp.example", found
