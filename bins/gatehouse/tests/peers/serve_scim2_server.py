"""Serves scim2-server from memory with the users of the benchmarks: serve_scim2_server.py USERS"""

import datetime
import logging
import os
import signal
import socket
import sys

from scim2_models import Meta, ScimProvider
from scim2_server.memory import InMemoryStorage
from scim2_server.service import ScimService
from scim2_server.testserver.application import BearerTokenApplication
from scim2_server.utils import (
    load_default_resource_types,
    load_default_schemas,
    load_default_service_provider_config,
)
from waitress import serve

provider = ScimProvider.from_discovery(
    load_default_schemas().values(),
    load_default_resource_types().values(),
    config=load_default_service_provider_config(),
)
storage = InMemoryStorage()
User = provider.model_for("User")
now = datetime.datetime.now(datetime.UTC)


def user(number):
    name = f"user-{number:06d}"
    result = User.model_validate(
        {
            "schemas": ["urn:ietf:params:scim:schemas:core:2.0:User"],
            "userName": f"{name}@example.com",
            "externalId": f"ext-{number:06d}",
            "name": {"givenName": "Ada", "familyName": f"Lovelace {number % 1000}"},
            "emails": [
                {"value": f"{name}@example.com", "type": "work", "primary": True},
                {"value": f"{name}@home.example", "type": "home"},
            ],
            "active": number % 100 != 0,
        }
    )
    result.id = f"{number:032x}"
    result.meta = Meta(resource_type="User", created=now, last_modified=now, version=storage.next_version())
    return result


storage.resources = [user(number) for number in range(int(sys.argv[1]))]
service = ScimService(provider, secret=os.urandom(32).hex())
logging.getLogger("waitress").setLevel(logging.ERROR)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
listener = socket.socket()
listener.bind(("127.0.0.1", 0))
print(f"listening on http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
serve(BearerTokenApplication(storage, provider, service=service, bearer_tokens=[]), sockets=[listener], threads=8)
