"""Generates a client with openapi-python-client from the description, compiles it, and uses it on a running server.
check.py BASE_URL DESCRIPTION ANSWERS FOLDER, with TENANT, EMAIL, PASSWORD and SCIM_TOKEN, for an administrator without
a second factor who has the same password in another tenant. It writes the JSON answers that it reads to ANSWERS."""
import json, os, pathlib, sys

from client import Calls, functions, generate, until
from proofs import Passkey, code, metadata

# Parts of answers that need a sign-in through an identity provider, an OpenID provider or mail, and one of an answer's
# second media type, which the tool does not read.
NOT_READ = {"Accepted", "JsonWebKeySet", "OidcMetadataState", "OidcProvider", "OidcProviderMetadata", "OidcRelyingParty",
            "OidcTest", "OidcTestBegun", "OidcTestCheck", "SamlAttribute", "SamlNameId", "SamlSubject", "SamlTestUser",
            "ShownCheckpoint"}
ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"

base, (description, recorded, folder) = sys.argv[1], map(pathlib.Path, sys.argv[2:])
tenant, email, password = (os.environ[name] for name in ("TENANT", "EMAIL", "PASSWORD"))
api = json.loads(description.read_text())
# The tool does not know the media type of security event tokens, which transmitters post with their own libraries.
del api["paths"]["/api/ssf/{tenantId}/transmitters/{transmitterId}/events"]
schemas = api["components"]["schemas"]
operations = {one["operationId"]: one for item in api["paths"].values() for one in item.values()}


def stop(faults):
    if faults:
        sys.exit("\n".join(["openapi-python-client:", *faults]))


folder.mkdir()
description = folder / "openapi.json"
description.write_text(json.dumps(api))
faults = generate(description, folder)
found, more = functions(folder, operations)
stop(faults + more)
call = Calls(operations, schemas, found)
from gatehouse_client import AuthenticatedClient, Client, models

plain = {"base_url": base, "raise_on_unexpected_status": True, "timeout": 30, "httpx_args": {"trust_env": False}}
browser = plain | {"headers": {"Origin": base}}
json_only = plain | {"headers": {"Accept": "application/json"}}
nobody, admin, other = Client(**browser), Client(**browser), Client(**browser)
scim = AuthenticatedClient(token=os.environ["SCIM_TOKEN"], **plain)
passkey, who = Passkey(base), {"email": email, "password": password}


def ask(name, *path, client=admin, step_up=None, **parameters):
    """Call an operation, with a step-up for the purpose `step_up` if given."""
    if step_up:
        begun = ask("step_up_challenge_options", client=client, body={"purpose": step_up})
        proof = passkey.get(begun.webauthn.to_dict())
        proof = {"challengeId": begun.challenge_id, "factor": "WEBAUTHN", "credential": proof}
        parameters["x_step_up_token"] = ask("verify_step_up", client=client, body=proof).token
    return call(name, *path, client=client, **parameters).parsed


# Operations without a credential.
ask("get_openapi", client=nobody)
ask("get_events", client=nobody)
ask("get_service_provider_config", client=nobody)
ask("get_me", client=nobody, status=401)
ask("sign_in_providers", client=nobody, body={"tenant": tenant})
ask("sign_in", client=nobody, body=who | {"tenant": tenant, "password": "another password"}, status=401)
ask("resume_sign_in", client=nobody, status=401)
ask("redeem_link", client=nobody, body={"token": "lnk_none", "password": password}, status=401)
first = {"token": "none", "name": "Acme", "slug": "acme-first", "email": "first@example.com", "password": password}
ask("set_up", client=nobody, body=first, status=401)
ask("forgotten_password", client=nobody, body={"email": email, "tenant": tenant}, status=409)
ask("bind_session", client=nobody, status=404)
ask("refresh_session", client=nobody, status=404)

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
ask("remove_factor", app.id, step_up="ACCOUNT_SECURITY_CHANGE")

# The user's own account.
me = ask("get_me")
ask("patch_me", body={"displayName": "Ada", "phoneNumbers": [{"value": "+1 555 0100", "type": "work"}]})
ask("heartbeat")
ask("list_sessions")
ask("revoke_other_sessions")
ask("revoke_session", "ses_none", status=404)
token = ask("create_token", body={"name": "tool", "scopes": ["read:profile"], "expiresInDays": 7})
ask("get_me", client=AuthenticatedClient(token=token.token, **plain))
ask("list_people", client=AuthenticatedClient(token=token.token, **plain), status=403)
ask("list_tokens")
ask("list_user_tokens", me.id)
ask("revoke_token", token.id)
token = ask("create_token", body={"name": "tool", "scopes": ["admin:tenant"]}, step_up="PAT_MINT_ADMIN")
ask("list_scim_tokens", client=AuthenticatedClient(token=token.token, **plain))
ask("rename_tenant", body={"name": "Acme Ltd"})
ask("get_tenant")
ask("list_people", limit=1)
ask("get_person", me.id)
ask("patch_person", me.id, body={"title": "Countess", "phoneNumbers": None})
ask("step_up_status", purpose=models.StepUpStatusPurpose.PAYROLL_SEAL)
ask("consume_step_up", body={"purpose": "PAYROLL_SEAL"}, step_up="PAYROLL_SEAL")
ask("create_scim_token", body={"name": "Okta"}, status=401)

# Settings of sign-in, network and authenticators.
policy = ask("get_sign_in_policy").to_dict()
policy |= {"pat": {"maxDays": 90, "allowedScopes": ["read:profile", "admin:tenant"]}}
ask("put_sign_in_policy", body=policy, step_up="SIGN_IN_POLICY_CHANGE")
minted = ask("create_scim_token", body={"name": "Okta", "createConflict": True}, step_up="SCIM_TOKEN_MINT")
ask("list_scim_tokens")

# A dry run.
simulating = ask("create_scim_token", body={"name": "Dry run", "dryRun": True}, step_up="SCIM_TOKEN_MINT")
directory = AuthenticatedClient(token=simulating.token, **plain)
ask("create_user", client=directory, status=201, body={"userName": "simulated"})
result = ask("get_dry_run", simulating.id)
assert [(one.name, one.action) for one in result.changes] == [("simulated", "CREATE")], result
ask("get_dry_run", minted.id, status=404)
ask("revoke_scim_token", simulating.id)

# A directory that removes too many users.
ask("get_removal_limit")
ask("put_removal_limit", body={"enabled": True, "percent": 1, "users": 1}, step_up="SCIM_TOKEN_MINT")
ask("put_removal_limit", body={"enabled": True, "percent": 0, "users": 1}, step_up="SCIM_TOKEN_MINT", status=400)
directory = AuthenticatedClient(token=minted.token, **plain)
ask("discard_removals", minted.id, status=409)
for name, status in [("leaver-1", 204), ("leaver-2", 403)]:
    leaver = ask("list_users", client=directory, filter_=f'userName eq "{name}@example.com"').resources[0]
    ask("delete_user", leaver.id, client=directory, status=status)
held = ask("list_removals", minted.id)
assert [(one.user_name, one.action) for one in held.removals] == [("leaver-2@example.com", "DELETE")], held
ask("discard_removals", minted.id)
ask("delete_user", leaver.id, client=directory, status=403)
shown = {"until": ask("list_removals", minted.id).as_of.isoformat()}
applied = ask("apply_removals", minted.id, body=shown, step_up="SCIM_TOKEN_MINT")
assert (applied.removed, applied.kept) == (1, 0), applied
ask("put_removal_limit", body={"enabled": True, "percent": 20, "users": 10}, step_up="SCIM_TOKEN_MINT")
ask("revoke_scim_token", minted.id)
rule = ask("add_network_rule", body={"cidr": "192.0.2.0/24", "label": "office"}, step_up="NETWORK_POLICY_CHANGE")
ask("add_network_rules", body={"rules": [{"cidr": "198.51.100.0/24", "label": "branch"}]}, step_up="NETWORK_POLICY_CHANGE")
ask("add_network_rule", body={"cidr": "192.0.2.1/24", "label": "office"}, step_up="NETWORK_POLICY_CHANGE", status=400)
ask("rename_network_rule", rule.id, body={"label": "head office"}, step_up="NETWORK_POLICY_CHANGE")
ask("get_network_policy")
surfaces = {"SIGN_IN": True, "DASHBOARD": True, "API": True}
allowlist = {"mode": "ALLOWLIST", "enforcement": surfaces, "adminBypass": False}
ask("put_network_policy", body=allowlist, step_up="NETWORK_POLICY_CHANGE", status=409)
ask("put_network_policy", body=allowlist | {"adminBypass": True}, step_up="NETWORK_POLICY_CHANGE")
ask("test_network_policy", body={"ip": "192.0.2.7", "surface": "API"})
ask("test_network_policy", body={"ips": ["192.0.2.7", "198.51.100.7"], "asAdmin": True})
ask("list_users", client=scim, status=403)
ask("put_network_policy", body=allowlist | {"mode": "OFF"}, step_up="NETWORK_POLICY_CHANGE")
ask("remove_network_rule", rule.id, step_up="NETWORK_POLICY_CHANGE")
attestation = ask("get_attestation_policy")
policy = attestation.policy.to_dict() | {"mode": "ALLOWLIST", "allowedGroups": ["HARDWARE"]}
ask("attestation_policy_impact", body=policy)
ask("put_attestation_policy", body=policy, step_up="ATTESTATION_POLICY_CHANGE")
ask("test_attestation_policy", body={"aaguid": str(attestation.catalog[0].aaguid), "backupEligible": True})
ask("begin_passkey", step_up="ACCOUNT_SECURITY_CHANGE")

# Users, for administrators.
invited = ask("invite_user", body={"email": "grace@example.com", "displayName": "Grace"})
ask("invite_users", body={"emails": ["dorothy@example.com", "grace@example.com"], "role": "MEMBER"})
link = invited.link.partition("#link=")[2]
ask("redeem_link", client=other, body={"token": link, "password": "what an admiral would say"})
ask("get_me", client=other)
ask("get_sign_in_policy", client=other, status=403)
draft = ask("get_sign_in_policy").to_dict()
draft["mfa"]["required"] = True
ask("sign_in_policy_impact", body=draft)
ask("test_user_sign_in", invited.id, body={"first": "SSO", "ip": "192.0.2.7"})
ask("list_settings_users")
ask("get_settings_user", invited.id)
ask("patch_settings_user", invited.id, body={"role": "ADMIN"}, step_up="USER_ADMIN_CHANGE")
theirs = ask("create_token", client=other, body={"name": "tool", "scopes": ["read:profile"]})
ask("revoke_user_token", invited.id, theirs.id)
session = ask("list_user_sessions", invited.id).sessions[0]
ask("revoke_user_session", invited.id, session.id)
ask("change_password", client=other, body={"currentPassword": "", "newPassword": ""}, status=401)
ask("reset_user_password", invited.id, step_up="USER_ADMIN_CHANGE")
ask("reset_user_factors", invited.id, step_up="USER_ADMIN_CHANGE")
ask("revoke_user_sessions", invited.id)
ask("list_saml_subjects", invited.id)
ask("delete_saml_subject", invited.id, "sso_none", step_up="USER_ADMIN_CHANGE", status=404)

# SCIM.
ask("list_schemas", client=scim)
ask("get_schema", "urn:ietf:params:scim:schemas:core:2.0:User", client=scim)
ask("list_resource_types", client=scim)
ask("get_resource_type", "User", client=scim)
person = {"userName": "bjensen", "name": {"givenName": "Barbara", "familyName": "Jensen"}, "active": True,
          "emails": [{"value": "bjensen@example.com", "type": "work", "primary": True}],
          "phoneNumbers": [{"value": "+1 555 0101", "type": "work"}], "roles": [{"value": "admin"}],
          "addresses": [{"locality": "Hollywood", "type": "work"}], "entitlements": [{"value": "payroll"}],
          ENTERPRISE: {"department": "Tours", "manager": {"value": me.id}}}
made = call("create_user", client=scim, status=201, body=person)
user = made.parsed
assert made.headers["location"] == user.meta.location, made.headers
ask("create_user", client=scim, body=person)
ask("create_user", client=scim, body={"userName": " "}, status=400)
group = ask("create_group", client=scim, status=201, body={"displayName": "Tours", "members": [{"value": user.id}]})
ask("create_group", client=scim, status=409, body={"displayName": "Tours"})
ask("list_users", client=scim, filter_='userName eq "bjensen"')
ask("list_users", client=scim, filter_="userName eq", status=400)
ask("list_users", client=Client(**plain), status=401)
ask("search_users", client=scim, body={"filter": "active eq true", "count": 1})
ask("get_user", user.id, client=scim)
ask("get_user", "usr_none", client=scim, status=404)
ask("replace_user", user.id, client=scim, body=person | {"title": "Guide"})
changes = [{"op": "replace", "path": "title", "value": "Tour guide"}, {"op": "add", "value": {"nickName": "Babs"}},
           {"op": "replace", "path": "active", "value": False}, {"op": "remove", "path": "roles"},
           {"op": "add", "path": "emails", "value": [{"value": "babs@example.com", "type": "home"}]}]
ask("patch_user", user.id, client=scim, body={"Operations": changes})
ask("list_groups", client=scim)
ask("search_groups", client=scim, body={"filter": 'displayName sw "T"'})
ask("search_all", client=scim, body={"filter": "meta.lastModified pr"})
ask("get_group", group.id, client=scim)
ask("replace_group", group.id, client=scim, body={"displayName": "Guides", "members": [{"value": user.id}]})
ask("patch_group", group.id, client=scim, body={"Operations": [{"op": "remove", "path": "members"}]})

# Roles, and rules that give them to groups.
role = {"name": "Help desk", "description": None, "permissions": ["support:users"]}
role = ask("create_role", body=role, step_up="USER_ADMIN_CHANGE")
ask("create_role", body={"name": "Admin", "permissions": ["read:audit"]}, step_up="USER_ADMIN_CHANGE", status=400)
ask("put_role", role.id, body={"name": "Desk", "permissions": ["support:users"]}, step_up="USER_ADMIN_CHANGE")
ask("list_roles")
rule = {"groupId": group.id, "role": role.id}
ask("patch_group", group.id, client=scim, body={"Operations": [
    {"op": "add", "path": "members", "value": [{"value": user.id}]}]})
ask("preview_role_rule", body={"rule": rule})
rule = ask("create_role_rule", body=rule, step_up="USER_ADMIN_CHANGE")
ask("put_role_rule", rule.id, body={"groupId": group.id, "role": "AUDITOR"}, step_up="USER_ADMIN_CHANGE")
ask("list_role_rules")
ask("delete_role_rule", rule.id, step_up="USER_ADMIN_CHANGE")
ask("delete_role", role.id, step_up="USER_ADMIN_CHANGE")
ask("delete_role", role.id, step_up="USER_ADMIN_CHANGE", status=404)

ask("delete_group", group.id, client=scim, status=204)
ask("delete_user", user.id, client=scim, status=204)

# Single sign-on.
provider = {"name": "Okta", "emailDomains": ["example.org"], "metadataXml": metadata("https://idp.example.org")}
provider = ask("create_saml_provider", body=provider, step_up="SSO_PROVIDER_CHANGE")
ask("list_saml_providers")
ask("get_saml_provider", provider.id)
ask("put_saml_provider", provider.id, body={"name": "Okta", "emailDomains": ["example.org"], "forceAuthn": True},
    step_up="SSO_PROVIDER_CHANGE")
accounts = {"groupsClaim": "groups", "createUsers": {"role": "MEMBER", "emailDomains": ["example.org"]}}
ask("put_sso_accounts", provider.id, body=accounts, step_up="SSO_PROVIDER_CHANGE")
ask("get_sso_accounts", provider.id)
ask("sign_in_providers", client=nobody, body={"tenant": tenant})
ask("saml_metadata", provider.id, client=nobody)
ask("saml_login", provider.id, client=nobody)
ask("saml_acs", provider.id, client=Client(**json_only), body={"SAMLResponse": "bm9uZQ=="}, status=401)
ask("saml_slo", provider.id, client=Client(**json_only), body={"SAMLRequest": "bm9uZQ=="}, status=400)
ask("saml_slo_redirect", provider.id, client=Client(**json_only), saml_request="bm9uZQ==", status=400)
ask("saml_logout", provider.id, client=Client(**json_only), token="none", status=303)
test = ask("test_saml_provider", provider.id)
ask("get_saml_test", provider.id, test.id)
ask("refresh_saml_provider", provider.id, status=409)
ask("rotate_saml_certificate", provider.id, step_up="SSO_PROVIDER_CHANGE")
ask("complete_saml_rotation", provider.id, step_up="SSO_PROVIDER_CHANGE")
# The other tests have an OpenID provider.
oidc = {"name": "Okta", "emailDomains": ["example.com"], "issuer": "https://127.0.0.1:1", "clientId": "gatehouse",
        "clientSecret": "secret"}
ask("create_oidc_provider", body=oidc, step_up="SSO_PROVIDER_CHANGE", status=400)
ask("list_oidc_providers")
ask("get_oidc_provider", "oidc_none", status=404)
ask("put_oidc_provider", "oidc_none", body=oidc, step_up="SSO_PROVIDER_CHANGE", status=404)
ask("test_oidc_provider", "oidc_none", status=404)
ask("get_oidc_test", "oidc_none", "try_none", status=404)
ask("refresh_oidc_provider", "oidc_none", status=404)
ask("rotate_oidc_key", "oidc_none", step_up="SSO_PROVIDER_CHANGE", status=404)
ask("complete_oidc_key_rotation", "oidc_none", step_up="SSO_PROVIDER_CHANGE", status=404)
ask("delete_oidc_provider", "oidc_none", step_up="SSO_PROVIDER_CHANGE", status=404)
ask("oidc_login", "oidc_none", client=nobody, status=404)
ask("oidc_callback", "oidc_none", client=nobody, state="none", status=404)
ask("oidc_jwks", "oidc_none", client=nobody, status=404)
ask("oidc_backchannel_logout", "oidc_none", client=nobody, body={"logout_token": "none"}, status=404)
ask("list_domains")
ask("verify_domain", "example.net", step_up="SSO_PROVIDER_CHANGE", status=404)
ask("delete_domain", "example.net", step_up="SSO_PROVIDER_CHANGE", status=404)
ask("delete_saml_provider", provider.id, step_up="SSO_PROVIDER_CHANGE")

# Log streams, to a port without a receiver.
stream = {"name": "SIEM", "type": "HTTPS", "url": "http://127.0.0.1:1/", "from": 0}
stream = ask("create_log_stream", body=stream)
ask("change_log_stream", stream.id, body={"eventFilters": ["ACCOUNT_*"]})
ask("list_log_streams")
until("a problem of the log stream", lambda: ask("get_log_stream", stream.id).problem)
ask("get_log_stream", "lst_none", status=404)
ask("test_log_stream", stream.id)
ask("resend_log_stream", stream.id, body={"from": 0})
ask("delete_log_stream", stream.id)

# Shared signals.
receiver = ask("create_signal_receiver", body={"name": "Payroll", "audience": "https://payroll.example/"})
ask("change_signal_receiver", receiver.id, body={"subjectFormat": "EMAIL"})
ask("get_signal_receiver", receiver.id)
ask("list_signal_receivers")
receiver = ask("replace_signal_token", receiver.id)
ask("rotate_signal_key")
transmitter = ask("ssf_configuration", ask("get_tenant").id, client=nobody)
ask("ssf_jwks", ask("get_tenant").id, client=nobody)
subscriber = AuthenticatedClient(token=receiver.token, **plain)
ask("create_ssf_stream", client=AuthenticatedClient(token="ssf_none", **plain), body={}, status=401)
stream = ask("create_ssf_stream", client=subscriber, status=201, body={"description": "Sessions"})
ask("create_ssf_stream", client=subscriber, body={}, status=409)
assert stream.iss == transmitter.issuer, stream
ask("get_ssf_stream", client=subscriber, stream_id=stream.stream_id)
ask("get_ssf_stream", client=subscriber)
own = {"stream_id": stream.stream_id}
ask("update_ssf_stream", client=subscriber, body=own | {"description": None})
ask("replace_ssf_stream", client=subscriber, body=own | {"delivery": {"method": "urn:ietf:rfc:8936"}})
ask("set_ssf_status", client=subscriber, body=own | {"status": "enabled", "reason": "test"})
ask("get_ssf_status", client=subscriber, stream_id=stream.stream_id)
subject = {"format": "email", "email": "nobody@example.com"}
ask("remove_ssf_subject", client=subscriber, status=204, body=own | {"subject": subject})
ask("add_ssf_subject", client=subscriber, body=own | {"subject": subject})
ask("verify_ssf_stream", client=subscriber, status=204, body=own | {"state": "x"})
tokens = ask("poll_ssf_stream", stream.stream_id, client=subscriber, body={"returnImmediately": True})
ask("poll_ssf_stream", stream.stream_id, client=subscriber, body={"ack": list(tokens.sets.to_dict()), "maxEvents": 0})
# To a port without a receiver.
push = {"method": "urn:ietf:rfc:8935", "endpoint_url": "http://127.0.0.1:1/"}
ask("update_ssf_stream", client=subscriber, body=own | {"delivery": push})
ask("create_user", client=scim, status=201, body={"userName": "signalled"})
until("a problem of the stream", lambda: ask("get_signal_receiver", receiver.id).stream.problem)
ask("delete_ssf_stream", client=subscriber, status=204, stream_id=stream.stream_id)
ask("delete_signal_receiver", receiver.id)

# Transmitters of signals, without an SSO connection.
source = {"name": "Okta", "issuer": "https://127.0.0.1:1", "audience": "https://gate.example/", "connectionId": "oidc_none",
          "consequences": {"sessionRevoked": "END_SESSIONS"}}
ask("create_signal_transmitter", body=source, step_up="SSO_PROVIDER_CHANGE", status=400)
ask("list_signal_transmitters")
ask("get_signal_transmitter", "trm_none", status=404)
ask("change_signal_transmitter", "trm_none", body={"enabled": False}, step_up="SSO_PROVIDER_CHANGE", status=404)
ask("replace_transmitter_token", "trm_none", step_up="SSO_PROVIDER_CHANGE", status=404)
ask("delete_signal_transmitter", "trm_none", step_up="SSO_PROVIDER_CHANGE", status=404)

# Webhooks, to a port without a receiver.
hook = {"name": "payroll", "url": "http://127.0.0.1:1/", "eventFilters": ["ACCOUNT_USER_*", "NONE"]}
hook = ask("create_webhook", body=hook)
ask("change_webhook", hook.id, body={"eventFilters": ["ACCOUNT_*"]})
ask("list_webhooks")
ask("get_webhook", hook.id)
ask("get_webhook", "whk_none", status=404)
ask("test_webhook", hook.id)
ask("rotate_webhook_secret", hook.id, body={"overlapHours": 1}, step_up="WEBHOOK_SECRET_ROTATE")
ask("complete_webhook_rotation", hook.id, step_up="WEBHOOK_SECRET_ROTATE")
ask("rotate_webhook_secret", hook.id, step_up="WEBHOOK_SECRET_ROTATE")
ask("patch_settings_user", invited.id, body={"active": False}, step_up="USER_ADMIN_CHANGE")
deliveries = lambda: ask("list_webhook_deliveries", hook.id).deliveries
delivery = until("a delivery", lambda: [one for one in deliveries() if one.error])[0]
ask("get_webhook_payload", hook.id, delivery.id)
ask("retry_webhook_delivery", hook.id, delivery.id)
ask("replay_webhook", hook.id, body={"from": "2026-01-01T00:00:00Z"})
ask("get_webhook_activity", hook.id)
ask("change_webhook", hook.id, body={"enabled": False})
ask("replay_webhook", hook.id, body={"from": "2026-01-01T00:00:00Z"}, status=409)
tenant = ask("get_tenant").id
ask("webhook_keys", tenant, hook.id, client=nobody)
ask("webhook_keys", tenant, "whk_none", client=nobody, status=404)
ask("delete_webhook", hook.id)

# The audit log.
page = ask("get_audit_log", limit=5)
ask("get_audit_log", limit=5, cursor=page.next_cursor)
ask("get_audit_log", q="Okta", resource_type="SCIM_TOKEN")
entry = page.entries[0].id
until("a seal", lambda: call("get_audit_proof", entry, client=admin, status=(200, 409)).status_code == 200)
ask("get_audit_activity", days=7)
ask("export_audit_log")
ask("get_audit_checkpoint")
ask("get_audit_checkpoint", client=AuthenticatedClient(token=token.token, **json_only))
ask("get_audit_consistency", from_=1)
ask("get_audit_tile", "0", "000.p/1")
ask("get_audit_tile", "0", "999", status=404)
rules = allowlist | {"rules": ["192.0.2.0/24"]}
until("the last use of a token", lambda: ask("network_policy_impact", body=rules).tokens)
ask("delete_settings_user", invited.id, step_up="USER_ADMIN_CHANGE")
new = {"currentPassword": password, "newPassword": f"{password}, and more", "revokeTokens": True}
ask("change_password", body=new, step_up="ACCOUNT_SECURITY_CHANGE")
ask("remove_all_factors", step_up="ACCOUNT_SECURITY_CHANGE")
ask("sign_out")

recorded.write_text(json.dumps(call.answers))
unread = call.kinds() - call.read
faults = call.faults + [f"{name}: was not called" for name in operations if name not in call.called]
faults += [f"{kind}: no answer with it was read" for kind in sorted(unread - NOT_READ)]
faults += [f"{kind}: an answer with it was read; remove it from NOT_READ" for kind in sorted(NOT_READ - unread)]
stop(faults)
print(f"openapi-python-client: {len(operations)} operations called, {len(call.answers)} JSON answers with "
      f"{len(call.read)} kinds of objects read")
