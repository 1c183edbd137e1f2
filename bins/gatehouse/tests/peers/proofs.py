"""A passkey, codes of an authenticator app, and metadata of an identity provider."""
import base64, datetime, hashlib, hmac, json, secrets, struct, time

import cbor2
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

METADATA = """<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="{0}">
<IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol"><KeyDescriptor use="signing">
<KeyInfo xmlns="http://www.w3.org/2000/09/xmldsig#">
<X509Data><X509Certificate>{1}</X509Certificate></X509Data>
</KeyInfo></KeyDescriptor>
<SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST" Location="{0}/sso"/>
</IDPSSODescriptor></EntityDescriptor>"""


def encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Passkey:
    """A software authenticator with one passkey (WebAuthn, sections 6.1 and 6.5)."""

    def __init__(self, origin):
        self.origin, self.key, self.id = origin, ec.generate_private_key(ec.SECP256R1()), secrets.token_bytes(32)

    def client_data(self, kind, options):
        data = {"type": kind, "challenge": options["challenge"], "origin": self.origin, "crossOrigin": False}
        return json.dumps(data).encode()

    def credential(self, client, response):
        response = response | {"clientDataJSON": encode(client)}
        return {"id": encode(self.id), "rawId": encode(self.id), "type": "public-key", "response": response}

    def create(self, options):
        self.user = options["user"]["id"]
        point = self.key.public_key().public_numbers()
        public = {1: 2, 3: -7, -1: 1, -2: point.x.to_bytes(32, "big"), -3: point.y.to_bytes(32, "big")}
        data = hashlib.sha256(options["rp"]["id"].encode()).digest() + b"\x45" + bytes(4) + bytes(16)
        data += len(self.id).to_bytes(2, "big") + self.id + cbor2.dumps(public)
        attestation = encode(cbor2.dumps({"fmt": "none", "attStmt": {}, "authData": data}))
        client = self.client_data("webauthn.create", options)
        return self.credential(client, {"attestationObject": attestation})

    def get(self, options):
        data = hashlib.sha256(options["rpId"].encode()).digest() + b"\x05" + bytes(4)
        client = self.client_data("webauthn.get", options)
        signature = encode(self.key.sign(data + hashlib.sha256(client).digest(), ec.ECDSA(hashes.SHA256())))
        response = {"authenticatorData": encode(data), "signature": signature, "userHandle": self.user}
        return self.credential(client, response)


def code(secret):
    """Return the current code of an authenticator app (RFC 6238)."""
    key = base64.b32decode(secret + "=" * (-len(secret) % 8))
    digest = hmac.digest(key, struct.pack(">Q", int(time.time()) // 30), "sha1")
    number = struct.unpack_from(">I", digest, digest[-1] & 15)[0] & 0x7FFF_FFFF
    return f"{number % 1_000_000:06}"


def metadata(entity):
    """Return metadata of an identity provider, with a certificate that is valid for a year."""
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([])
    now = datetime.datetime.now(datetime.timezone.utc)
    end = now + datetime.timedelta(days=365)
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now, end)
    der = builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.DER)
    return METADATA.format(entity, base64.b64encode(der).decode())
