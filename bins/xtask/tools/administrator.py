"""An administrator with a passkey, for tools that call the whole API: signs in, proves step-ups, and makes the objects that
paths name. Loaded by schemathesis as its hooks; GATEHOUSE, EMAIL and PASSWORD say where and as whom."""
import base64, datetime, functools, hashlib, itertools, json, os, secrets

import cbor2, requests, schemathesis
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

BASE = os.environ["GATEHOUSE"]
ORIGIN = BASE.replace("127.0.0.1", "localhost")  # a server on a loopback address takes it for its own name
numbers = itertools.count()


def encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def purpose_of(answer):
    """What a refusal asks a step-up for; None of any other answer."""
    refused = answer.status_code == 401 and answer.json()
    return refused.get("purpose") if refused and refused.get("code") == "STEP_UP_REQUIRED" else None


class Passkey:
    """A key and the device that holds it (WebAuthn, sections 6.1 and 6.5)."""

    def __init__(self):
        self.key, self.id = ec.generate_private_key(ec.SECP256R1()), secrets.token_bytes(32)

    def credential(self, response):
        return {"id": encode(self.id), "rawId": encode(self.id), "type": "public-key", "response": response}

    def client_data(self, kind, options):
        data = {"type": kind, "challenge": options["challenge"], "origin": ORIGIN, "crossOrigin": False}
        return json.dumps(data).encode()

    def create(self, options):
        point = self.key.public_key().public_numbers()
        public = {1: 2, 3: -7, -1: 1, -2: point.x.to_bytes(32, "big"), -3: point.y.to_bytes(32, "big")}
        data = hashlib.sha256(options["rp"]["id"].encode()).digest() + b"\x45" + bytes(4) + bytes(16)
        data += len(self.id).to_bytes(2, "big") + self.id + cbor2.dumps(public)
        attestation = cbor2.dumps({"fmt": "none", "attStmt": {}, "authData": data})
        client = self.client_data("webauthn.create", options)
        return self.credential({"clientDataJSON": encode(client), "attestationObject": encode(attestation)})

    def get(self, options):
        data = hashlib.sha256(options["rpId"].encode()).digest() + b"\x05" + bytes(4)
        client = self.client_data("webauthn.get", options)
        signature = self.key.sign(data + hashlib.sha256(client).digest(), ec.ECDSA(hashes.SHA256()))
        return self.credential({"clientDataJSON": encode(client), "authenticatorData": encode(data),
                                "signature": encode(signature)})


class Administrator:
    """A session that is renewed when an operation has ended it."""

    def __init__(self, email, password):
        self.email, self.password, self.passkey = email, password, None
        self.sign_in()

    def call(self, method, path, body=None, headers=None):
        return self.session.request(method, BASE + path, json=body, headers={"Origin": ORIGIN, **(headers or {})}, timeout=10)

    def ask(self, method, path, body=None):
        answer = self.call(method, path, body)
        if purpose := purpose_of(answer):
            answer = self.call(method, path, body, {"X-StepUp-Token": self.step_up(purpose)})
        assert answer.ok, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json() if answer.content else None

    def sign_in(self):
        self.session = requests.Session()
        self.session.trust_env = False
        body = {"email": self.email, "password": self.password}
        begun = self.ask("POST", "/api/auth/sign-in", body)
        if begun["status"] == "MFA_REQUIRED":
            proof = {"ticket": begun["ticket"], "factor": "WEBAUTHN", "credential": self.passkey.get(begun["webauthn"])}
            self.ask("POST", "/api/auth/sign-in/verify", proof)
        else:
            self.passkey = self.enrol()

    def enrol(self):
        passkey = Passkey()
        options = self.ask("POST", "/api/me/factors/passkeys/options", {})
        body = {"challengeId": options["challengeId"], "credential": passkey.create(options["webauthn"])}
        passkey.factor = self.ask("POST", "/api/me/factors/passkeys/verify", body)["id"]
        return passkey

    def step_up(self, purpose):
        """A token for one request. In another session where this one has sent too many wrong proofs."""
        options = self.ask("POST", "/api/auth/step-up/challenge-options", {"purpose": purpose})
        proof = {"challengeId": options["challengeId"], "factor": "WEBAUTHN",
                 "credential": self.passkey.get(options["webauthn"])}
        answer = self.call("POST", "/api/auth/step-up/verify", proof)
        if answer.status_code == 429:
            self.sign_in()
            return self.step_up(purpose)
        assert answer.ok, f"step-up: {answer.status_code} {answer.text}"
        return answer.json()["token"]

    def certificate(self):
        """A certificate of an identity provider."""
        key, now = ec.generate_private_key(ec.SECP256R1()), datetime.datetime.now(datetime.timezone.utc)
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "idp")])
        made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        made = made.serial_number(1).not_valid_before(now).not_valid_after(now + datetime.timedelta(365))
        return made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()

    def object(self, path):
        """The parameters of a path that names something that is there; None where nothing can be made."""
        number = next(numbers)
        if path.startswith("/api/me/factors/"):
            return {"id": self.enrol().factor}
        if path.startswith("/api/me/tokens/"):
            return {"id": self.token()}
        if path.startswith("/api/me/sessions/"):
            return {"id": self.another_session()}
        if path == "/api/settings/users/{id}/tokens/{tokenId}":
            return {"id": self.ask("GET", "/api/me")["id"], "tokenId": self.token()}
        if path == "/api/settings/users/{id}/sessions/{sid}":
            return {"id": self.ask("GET", "/api/me")["id"], "sid": self.another_session()}
        if path.startswith(("/api/settings/users/", "/api/people/")):
            new = {"email": f"user-{number}@example.com", "displayName": "User"}
            return {"id": self.ask("POST", "/api/settings/users", new)["id"], "ssoId": "sso_00000000000000000000000000"}
        if path.startswith("/api/settings/network-policy/rules/"):
            rule = {"cidr": f"10.{number // 250 % 250}.{number % 250}.0/24", "label": "Rule"}
            return {"id": self.ask("POST", "/api/settings/network-policy/rules", rule)["id"]}
        if path.startswith("/api/settings/scim-tokens/"):
            return {"id": self.ask("POST", "/api/settings/scim-tokens", {"name": "Tool"})["id"]}
        if path.startswith("/api/settings/webhooks/"):
            new = {"name": "Receiver", "url": "https://receiver.example.com/hook"}
            return {"id": self.ask("POST", "/api/settings/webhooks", new)["id"], "deliveryId": "dlv_00000000000000000000000000"}
        if path.startswith(("/api/settings/saml-providers/", "/api/settings/domains/", "/api/saml/")):
            domain = f"idp-{number}.example.com"
            new = {"name": "Provider", "emailDomains": [domain], "entityId": f"https://{domain}/entity",
                   "ssoUrl": f"https://{domain}/sso", "certificates": [self.certificate()]}
            made = self.ask("POST", "/api/settings/saml-providers", new)["id"]
            return {"id": made, "providerId": made, "domain": domain, "tryId": "try_00000000000000000000000000"}
        if path.startswith("/api/settings/audit-log/"):
            return {"id": self.ask("GET", "/api/settings/audit-log?order=sequence&limit=1")["entries"][0]["id"]}
        return None

    def token(self):
        new = {"name": "Tool", "scopes": ["read:profile"]}
        return self.ask("POST", "/api/me/tokens", new)["id"]

    def another_session(self):
        kept = self.session
        self.sign_in()
        other = next(one["id"] for one in self.ask("GET", "/api/me/sessions")["sessions"] if one.get("current"))
        self.session = kept
        return other


@functools.cache
def administrator():
    return Administrator(os.environ["EMAIL"], os.environ["PASSWORD"])


purposes = {}  # of an operation, learnt from its refusals


@schemathesis.hook
def before_call(context, case, kwargs):
    """Call as the administrator, with the proof that the operation asks for, on an object that is there."""
    who, positive = administrator(), case.meta is None or case.meta.generation.mode.is_positive
    if positive and case.path_parameters and (known := who.object(case.operation.path)):
        case.path_parameters = {name: known.get(name, value) for name, value in case.path_parameters.items()}
    if case.operation.path.startswith("/api/settings/network-policy") and isinstance(case.body, dict):
        case.body.pop("acknowledge", None)  # it would shut the tool out
    (case.query or {}).pop("acknowledge", None)
    case.headers = dict(case.headers or {}) | {"Origin": ORIGIN}
    if purpose := purposes.get(case.operation.label):
        case.headers["X-StepUp-Token"] = who.step_up(purpose)
    case.cookies = who.session.cookies.get_dict()


@schemathesis.hook
def after_call(context, case, response):
    if case.operation.label == "DELETE /api/me/factors" and response.status_code == 200:
        administrator().sign_in()  # which enrols another passkey
    if response.status_code != 401:
        return
    refusal = response.json()
    if refusal.get("code") == "STEP_UP_REQUIRED":
        purposes[case.operation.label] = refusal["purpose"]
    elif refusal.get("code") in ("UNAUTHENTICATED", "SESSION_REVOKED", "REAUTH_REQUIRED"):
        administrator().sign_in()
