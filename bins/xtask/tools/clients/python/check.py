"""A client that openapi-python-client generates from the description: compiled, complete, and used on a running server.
check.py BASE_URL DESCRIPTION FOLDER with TENANT, EMAIL, PASSWORD and SCIM_TOKEN, for an administrator without a second
factor. FOLDER/answers.json then has the JSON answers that it read."""
import datetime, json, os, pathlib, sys

from client import PACKAGE, Calls, functions, generate, until
from proofs import Passkey, code, metadata

# Only a sign-in through an identity provider makes them.
NOT_READ = {"SamlAttribute", "SamlNameId", "SamlSubject", "SamlTestUser"}

base, description, folder = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
tenant, email, password = (os.environ[name] for name in ("TENANT", "EMAIL", "PASSWORD"))
api = json.loads(description.read_text())
schemas = api["components"]["schemas"]
operations = {one["operationId"]: one for item in api["paths"].values() for one in item.values()}

generate(description, folder)
call = Calls(operations, schemas, functions(folder, operations))
from gatehouse_client import AuthenticatedClient, Client

plain = {"base_url": base, "raise_on_unexpected_status": True, "timeout": 10, "httpx_args": {"trust_env": False}}
browser = plain | {"headers": {"Origin": base}}
nobody, admin, other = Client(**browser), Client(**browser), Client(**browser)
scim = AuthenticatedClient(token=os.environ["SCIM_TOKEN"], **plain)
passkey, who = Passkey(base), {"email": email, "password": password}


def ask(name, *path, purpose=None, client=admin, **parameters):
    if purpose:
        begun = call("step_up_challenge_options", client=client, body={"purpose": purpose}).parsed
        proof = passkey.get(begun.webauthn.to_dict())
        proof = {"challengeId": begun.challenge_id, "factor": "WEBAUTHN", "credential": proof}
        parameters["x_step_up_token"] = call("verify_step_up", client=client, body=proof).parsed.token
    return call(name, *path, client=client, **parameters).parsed


# What needs no credential.
ask("get_openapi", client=nobody)
ask("get_events", client=nobody)
ask("get_service_provider_config", client=nobody)
ask("get_me", client=nobody, status=401)
ask("sign_in_providers", client=nobody, body={"tenant": tenant})
ask("sign_in", client=nobody, body=who | {"tenant": tenant, "password": "another password"}, status=401)
ask("resume_sign_in", client=nobody, status=401)
ask("redeem_link", client=nobody, body={"token": "lnk_none", "password": password}, status=401)

# Signing in, and factors.
choice = ask("sign_in", body=who)
ask("choose_tenant", body={"ticket": choice.ticket, "tenant": tenant})
setup = ask("begin_passkey")
created = passkey.create(setup.webauthn.to_dict())
factor = ask("verify_passkey", body={"challengeId": setup.challenge_id, "credential": created, "name": "key"})
codes = ask("generate_recovery_codes").codes
app = ask("begin_totp")
app = ask("verify_totp", body={"id": app.id, "code": code(app.secret)})
ask("rename_factor", factor.id, body={"name": "another name"})
ask("rename_factor", "fac_none", body={"name": "another name"}, status=404)
ask("list_factors")
owed = ask("sign_in", client=other, body=who | {"tenant": tenant})
ask("verify_factor", client=other, body={"ticket": owed.ticket, "factor": "RECOVERY_CODE", "code": codes[0]})
ask("sign_out", client=other)
begun = ask("begin_passkey_sign_in", client=other)
proof = {"challengeId": begun.challenge_id, "credential": passkey.get(begun.webauthn.to_dict())}
ask("finish_passkey_sign_in", client=other, body=proof)
ask("continue_sign_in", client=other)
ask("remove_factor", app.id, purpose="ACCOUNT_SECURITY_CHANGE")

# What people hold.
me = ask("get_me")
ask("patch_me", body={"displayName": "Ada", "phoneNumbers": [{"value": "+1 555 0100", "type": "work"}]})
ask("heartbeat")
ask("list_sessions")
ask("revoke_session", "ses_none", status=404)
token = ask("create_token", body={"name": "tool", "scopes": ["read:profile"], "expiresInDays": 7})
ask("get_me", client=AuthenticatedClient(token=token.token, **plain))
ask("list_people", client=AuthenticatedClient(token=token.token, **plain), status=403)
ask("list_tokens")
ask("list_user_tokens", me.id)
ask("revoke_token", token.id)
token = ask("create_token", body={"name": "tool", "scopes": ["admin:tenant"]}, purpose="PAT_MINT_ADMIN")
ask("list_scim_tokens", client=AuthenticatedClient(token=token.token, **plain))
ask("list_people", limit=1)
ask("get_person", me.id)
ask("patch_person", me.id, body={"title": "Countess", "phoneNumbers": None})
ask("step_up_status", purpose="PAYROLL_SEAL")
