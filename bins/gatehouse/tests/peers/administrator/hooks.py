"""Hooks of schemathesis: send each request as an administrator, with the step-up that the operation needs, for an
object that exists. GATEHOUSE is the server's address; EMAIL and PASSWORD are the administrator's."""
import functools, itertools, os, time

import requests, schemathesis

from proofs import Passkey, code, metadata

BASE = os.environ["GATEHOUSE"].replace("127.0.0.1", "localhost")  # the base URL of a server on a loopback address
PASSWORD = os.environ["PASSWORD"]
ENDED = ("UNAUTHENTICATED", "SESSION_REVOKED")
COOKIE = "authjs.session-token"
POLICIES = {f"/api/settings/{name}-policy" for name in ("sign-in", "network", "attestation")}
NEW_PASSWORD = "quiet harbour lantern 72"
# What every later change is sent to, so that each one more makes all requests slower.
RECEIVERS = {f"/api/settings/{name}" for name in ("webhooks", "log-streams", "signals/receivers")}
NOBODY = "http://127.0.0.1:9/"  # where nobody listens
numbers = itertools.count()


def problem(answer):
    """Return the code and the step-up purpose of a 401 response."""
    # A header is a list of values in schemathesis, a string in requests.
    media = "".join(answer.headers.get("content-type", ""))
    is_json = answer.status_code == 401 and media.startswith("application/json")
    body = answer.json() if is_json else {}
    return body.get("code"), body.get("purpose")


class Administrator:
    """An administrator who signs in again after an operation has ended the session."""

    def __init__(self, email):
        self.email, self.password, self.passkey, self.provider = email, PASSWORD, None, None
        self.sign_in()
        self.id = self.ask("GET", "/api/me")["id"]
        self.policies = {path: self.ask("GET", path) for path in POLICIES}

    def call(self, method, path, body=None, headers=None):
        headers = {"Origin": BASE, "X-Forwarded-For": self.address} | (headers or {})
        return self.session.request(method, BASE + path, json=body, headers=headers, timeout=10)

    def ask(self, method, path, body=None):
        answer = self.call(method, path, body)
        if problem(answer)[0] in ENDED:
            self.sign_in()
            answer = self.call(method, path, body)
        if purpose := problem(answer)[1]:
            answer = self.call(method, path, body, {"X-StepUp-Token": self.step_up(purpose)})
        if answer.status_code == 429:  # a limit of the tenant, which another address does not avoid
            time.sleep(int(answer.headers["Retry-After"]))
            return self.ask(method, path, body)
        assert answer.ok, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json() if answer.content else None

    def change_address(self):
        """Use another client address: rate limits of sign-ins and step-ups are per address."""
        number = next(numbers)
        self.address = f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"

    def sign_in(self):
        """Start another session, with the passkey if there is one and with the password otherwise."""
        self.change_address()
        self.session = requests.Session()
        self.session.trust_env = False
        if self.passkey is None:
            self.ask("POST", "/api/auth/sign-in", {"email": self.email, "password": self.password})
            self.passkey = self.enrol()
        else:
            options = self.ask("POST", "/api/auth/passkey/options")
            self.ask("POST", "/api/auth/passkey/verify", self.proof(options))

    def proof(self, options):
        return {"challengeId": options["challengeId"], "credential": self.passkey.get(options["webauthn"])}

    def step_up(self, purpose):
        """Return a step-up token for one request from the same address."""
        self.change_address()
        options = self.ask("POST", "/api/auth/step-up/challenge-options", {"purpose": purpose})
        return self.ask("POST", "/api/auth/step-up/verify", self.proof(options) | {"factor": "WEBAUTHN"})["token"]

    def restore(self, path):
        """Restore a policy, which could block the next requests."""
        known = self.policies[path]
        known = known.get("policy", known)
        keys = {"mode", "enforcement", "adminBypass"} if "network" in path else known.keys()
        defaults = {"pat": {"maxDays": None, "allowedScopes": None}} if "sign-in" in path else {}
        self.ask("PUT", path, defaults | {key: known[key] for key in keys})

    def make_room(self, path):
        """Delete objects until eight are left, to stay under the limit of their number, or no receiver."""
        listed = next(value for value in self.ask("GET", path).values() if isinstance(value, list))
        kept, room = self.passkey and self.passkey.factor, 0 if path in RECEIVERS else 8
        for old in [one["id"] for one in listed if one["id"] != kept and not one.get("builtIn")][room:]:
            self.ask("DELETE", f"{path}/{old}")

    def new_passkey(self):
        passkey = Passkey(BASE)
        options = self.ask("POST", "/api/me/factors/passkeys/options")
        return passkey, {"challengeId": options["challengeId"], "credential": passkey.create(options["webauthn"])}

    def enrol(self):
        if self.passkey:
            self.make_room("/api/me/factors")
        passkey, body = self.new_passkey()
        passkey.factor = self.ask("POST", "/api/me/factors/passkeys/verify", body)["id"]
        return passkey

    def create(self, path, body):
        self.make_room(path)
        return self.ask("POST", path, body)["id"]

    def token(self):
        return self.create("/api/me/tokens", {"name": "Tool", "scopes": ["read:profile"]})

    def webhook(self):
        return self.create("/api/settings/webhooks", {"name": "Receiver", "url": NOBODY})

    def other_session(self):
        kept = self.session
        self.sign_in()
        sessions, self.session = self.ask("GET", "/api/me/sessions")["sessions"], kept
        return next(one["id"] for one in sessions if one["current"])

    def provider_body(self):
        self.domain = f"idp-{next(numbers)}.example.com"
        return {"name": "Provider", "emailDomains": [self.domain], "metadataXml": metadata(f"https://{self.domain}")}

    def kept_provider(self):
        """Return an SSO connection, and create one only if needed, because generating its keys takes long."""
        if not self.provider or not self.call("GET", f"/api/settings/saml-providers/{self.provider}").ok:
            self.provider = self.create("/api/settings/saml-providers", self.provider_body())
        return self.provider

    def paused_token(self):
        """Create a SCIM token, and remove users with it until its removals are paused."""
        self.ask("PUT", "/api/settings/removal-limit", {"enabled": True, "percent": 1, "users": 1})
        self.make_room("/api/settings/scim-tokens")
        made = self.ask("POST", "/api/settings/scim-tokens", {"name": "Directory"})
        authorized = {"Authorization": f"Bearer {made['token']}", "Content-Type": "application/scim+json"}
        users = BASE + "/api/scim/v2/Users"
        with requests.Session() as directory:
            directory.trust_env = False
            directory.headers.update(authorized)
            for number, status in ((1, 200), (2, 403)):
                who = {"filter": f'userName eq "leaver-{number}@example.com"'}
                user = f"{users}/{directory.get(users, params=who, timeout=10).json()['Resources'][0]['id']}"
                for active, expected in ((True, 200), (False, status)):
                    change = {"Operations": [{"op": "replace", "path": "active", "value": active}]}
                    answer = directory.patch(user, json=change, timeout=10)
                    assert answer.status_code == expected, answer.text
        return made["id"]

    def object(self, method, path):
        """Return path parameters of an existing object; schemathesis generates the others."""
        own, rest = path.removeprefix("/api/me/"), path.removeprefix("/api/settings/")
        if path.startswith("/api/saml/"):
            return {"providerId": self.kept_provider()}
        if own.startswith("factors/{"):
            return {"id": self.enrol().factor}
        if own.startswith("tokens/"):
            return {"id": self.token()}
        if own.startswith("sessions/{"):
            return {"id": self.other_session()}
        if "{tokenId}" in path:
            return {"id": self.ask("GET", "/api/me")["id"], "tokenId": self.token()}
        if "{sid}" in path:
            return {"id": self.ask("GET", "/api/me")["id"], "sid": self.other_session()}
        if rest.startswith("users/") or path.startswith("/api/people/"):
            new = {"email": f"user-{next(numbers)}@example.com", "displayName": "User"}
            return {"id": self.ask("POST", "/api/settings/users", new)["id"]}
        if rest.startswith("network-policy/rules/"):
            rule = {"cidr": f"2001:db8:{next(numbers):x}::/48", "label": "Rule"}
            return {"id": self.ask("POST", "/api/settings/network-policy/rules", rule)["id"]}
        if rest.startswith("roles/"):
            role = {"name": f"Role {next(numbers)}", "permissions": ["read:users"]}
            return {"id": self.create("/api/settings/roles", role)}
        if rest.startswith("role-rules/"):
            rule = {"providerId": self.kept_provider(), "value": f"group {next(numbers)}", "role": "SUPPORT"}
            return {"id": self.create("/api/settings/role-rules", rule)}
        if rest.startswith("sso-connections/"):
            return {"id": self.kept_provider()}
        if rest.endswith("/dry-run"):
            return {"id": self.create("/api/settings/scim-tokens", {"name": "Tool", "dryRun": True})}
        if "/removals" in rest:
            return {"id": self.paused_token()}
        if rest.startswith("scim-tokens/"):
            return {"id": self.create("/api/settings/scim-tokens", {"name": "Tool"})}
        if rest.startswith("audit-log/tile/"):
            return {"level": "0", "index": "000.p/1"}
        if path.startswith("/.well-known/ssf-configuration/"):
            return {"tenantId": self.ask("GET", "/api/settings/tenant")["id"]}
        if path.startswith("/.well-known/webhooks/"):
            return {"tenantId": self.ask("GET", "/api/settings/tenant")["id"], "webhookId": self.webhook()}
        if rest.startswith("signals/receivers/"):
            new = {"name": "Receiver", "audience": "https://receiver.example/"}
            return {"id": self.create("/api/settings/signals/receivers", new)}
        if rest.startswith("log-streams/"):
            new = {"name": "Receiver", "type": "HTTPS", "url": NOBODY}
            return {"id": self.create("/api/settings/log-streams", new)}
        if rest.startswith("webhooks/"):
            hook = self.webhook()
            if rest.endswith("rotate-secret/complete"):
                self.ask("POST", f"/api/settings/webhooks/{hook}/rotate-secret", {"overlapHours": 1})
            if "{deliveryId}" not in path:
                return {"id": hook}
            self.token()  # an event
            sent = self.ask("GET", f"/api/settings/webhooks/{hook}/deliveries")["deliveries"]
            return {"id": hook} | {"deliveryId": one["id"] for one in sent}
        if rest.startswith(("saml-providers/", "domains/")):
            if method in ("GET", "PUT") or rest.endswith(("/test", "/refresh")):
                provider = self.kept_provider()
            else:
                provider = self.create("/api/settings/saml-providers", self.provider_body())
            if rest.endswith("rotate-certificate/complete"):
                self.ask("POST", f"/api/settings/saml-providers/{provider}/rotate-certificate")
            if "{tryId}" in path:
                test = self.ask("POST", f"/api/settings/saml-providers/{provider}/test")
                return {"id": provider, "tryId": test["id"]}
            return {"id": provider, "domain": self.domain}
        if rest.startswith("audit-log/"):
            return {"id": self.ask("GET", "/api/settings/audit-log?order=sequence&limit=1")["entries"][0]["id"]}
        return {}

    def body(self, label, body):
        """Return the body with values that no schema describes, and without values that lock the administrator out."""
        if (path := label.removeprefix("POST ")) in RECEIVERS:
            self.make_room(path)
        if label == "POST /api/me/password":
            return body | {"currentPassword": self.password, "newPassword": NEW_PASSWORD}
        if label == "POST /api/auth/sign-in":
            self.change_address()
            return {"email": self.email, "password": self.password}
        if label == "POST /api/auth/passkey/verify":
            return self.proof(self.ask("POST", "/api/auth/passkey/options"))
        if label == "POST /api/auth/step-up/verify":
            self.change_address()
            options = self.ask("POST", "/api/auth/step-up/challenge-options", {"purpose": "PAT_MINT_ADMIN"})
            return self.proof(options) | {"factor": "WEBAUTHN"}
        if label == "POST /api/me/factors/totp/verify":
            self.make_room("/api/me/factors")
            app = self.ask("POST", "/api/me/factors/totp")
            return {"id": app["id"], "code": code(app["secret"])}
        if label == "POST /api/me/factors/passkeys/verify":
            self.make_room("/api/me/factors")
            return body | self.new_passkey()[1]
        if label.endswith(("/saml-providers", "/saml-providers/{id}")):
            if label.startswith("POST"):
                self.make_room("/api/settings/saml-providers")
            fields = {name: value for name, value in body.items()
                      if name not in ("metadataUrl", "entityId", "ssoUrl", "certificates", "authnContexts")}
            return fields | self.provider_body() | {"name": body["name"]}
        if label.endswith(("/oidc-providers", "/oidc-providers/{id}")):
            # An issuer that is refused without a connection, because a test must not reach other hosts.
            return body | {"issuer": "https://127.0.0.1:9", "requiredClaims": {}}
        if label == "POST /api/settings/signals/transmitters":
            return body | {"issuer": "https://127.0.0.1:9", "connectionId": "oidc_none"}
        if label.startswith(("POST /api/settings/role", "PUT /api/settings/role")):
            return self.role_body(label, body)
        if label == "PUT /api/settings/sso-connections/{id}/accounts":
            creation = body.get("createUsers")
            return body | {"createUsers": creation and {"role": "MEMBER", "emailDomains": []}}
        if label == "PUT /api/settings/sign-in-policy":
            return body | {"mfa": body["mfa"] | {"acceptedFactors": ["WEBAUTHN", "TOTP"]}}
        if str(body.get("role", "")).startswith("role_"):
            return body | {"role": "MEMBER"}  # not a role that does not exist
        return body

    def role_body(self, label, body):
        """Return the body of a role with a new name, or of a rule for a group that exists."""
        if label.startswith("POST") and not label.endswith("/preview"):
            self.make_room(label.removeprefix("POST "))
        if "/role-rules" not in label:
            return body | {"name": f"Role {next(numbers)}"}
        rule = {"providerId": self.kept_provider(), "value": f"group {next(numbers)}", "role": "SUPPORT"}
        return {"rule": rule} if label.endswith("/preview") else rule


@functools.cache
def administrator():
    return Administrator(os.environ["EMAIL"])


purposes = {}  # step-up purposes by operation, from their 401 responses
unused = {}  # step-up tokens by purpose, each with its address


@schemathesis.deserializer("application/octet-stream")
def read_bytes(ctx, response):
    """Read bytes as a string with one character for each."""
    return response.content.decode("latin-1")


@schemathesis.hook
def before_call(context, case, kwargs):
    admin, label = administrator(), case.operation.label
    if session := kwargs.get("session"):
        session.cookies.clear()  # else cookies of earlier responses would be sent too
    # A credential that schemathesis generates would take precedence over the cookie.
    headers = {name: value for name, value in (case.headers or {}).items()
               if name.lower() not in ("authorization", "x-stepup-token")}
    case.headers, case.cookies = headers, {COOKIE: admin.session.cookies[COOKIE]}
    purpose = purposes.get(label)
    if case.meta is None or case.meta.generation.mode.is_positive:
        if case.path_parameters:
            known = admin.object(case.operation.method.upper(), case.operation.path)
            case.path_parameters = {name: known.get(name, value) for name, value in case.path_parameters.items()}
        if isinstance(case.body, dict):
            case.body = admin.body(label, case.body)
        if label == "POST /api/auth/step-up/consume":
            purpose = case.body["purpose"]
            unused.clear()
    elif admin.id in (case.path_parameters or {}).values():
        # Schemathesis has found the administrator's own ID in a response.
        case.path_parameters = admin.object(case.operation.method.upper(), case.operation.path)
    if purpose:
        if purpose not in unused:
            token = admin.step_up(purpose)
            unused[purpose] = token, admin.address
        case.headers["X-StepUp-Token"], admin.address = unused[purpose]
    case.headers |= {"Origin": BASE, "X-Forwarded-For": admin.address}


@schemathesis.hook
def after_call(context, case, response):
    admin, operation = administrator(), case.operation
    if response.status_code == 200 and operation.label == "DELETE /api/me/factors":
        admin.passkey = None
        admin.sign_in()
    if response.status_code == 200 and operation.label == "POST /api/me/password":
        admin.password = NEW_PASSWORD
    if response.status_code == 200 and operation.method.upper() == "PUT" and operation.path in POLICIES:
        admin.restore(operation.path)
    if response.status_code != 400:  # which the server sends before it consumes the token
        unused.pop(purposes.get(operation.label), None)
    code, purpose = problem(response)
    if code == "STEP_UP_REQUIRED":
        purposes[operation.label] = purpose
    elif code in ENDED:
        admin.sign_in()
