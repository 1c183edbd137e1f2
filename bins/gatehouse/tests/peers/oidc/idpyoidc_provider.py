"""An OpenID provider with idpyoidc, without its transport."""

from urllib.parse import parse_qsl

from cryptojwt import KeyJar
from cryptojwt.jws.jws import factory
from cryptojwt.key_jar import build_keyjar
from idpyoidc.encrypter import default_crypt_config
from idpyoidc.message.oauth2 import ResponseMessage
from idpyoidc.message.oidc import AuthorizationRequest
from idpyoidc.server import Server
from idpyoidc.server.exception import FailedAuthentication, UnAuthorizedClient
from idpyoidc.server.session.manager import PublicID

ALGORITHMS = ["RS256", "ES256", "PS256"]
METHODS = ["client_secret_basic", "client_secret_post", "private_key_jwt"]
PASSWORD_ACR = "urn:example:password"
LIFETIME = 600
FORM = """<!doctype html><title>Sign in</title><p>{message}</p><form method=post action='/verify'>
<input type=hidden name=token value="{token}"><input name="username"> <input name="password" type="password">
<input type="submit" value="Sign in"> <button name="cancel" value="yes">Cancel</button></form>"""


class Form:
    """The password form, in place of a Jinja template."""

    def render(self, _template, token, **_others):
        return FORM.format(token=token, message="")


class Passwords(dict):
    """The passwords by user name."""

    def __init__(self, people):
        super().__init__((name, person["password"]) for name, person in people.items())


class People:
    """The claims of the users; `person` replaces some of them."""

    def __init__(self, people, person, **_others):
        self.people, self.person = people, person

    def __call__(self, user_id, _client_id, **_others):
        person = self.people[user_id] | self.person
        return {"name": user_id, "email": person["email"], "email_verified": person.get("verified", True)}


def new_keys(name):
    """Create an RSA and a P-256 key, as private JWKs. RS256 and PS256 use the same RSA key."""
    keys = build_keyjar([{"type": "RSA", "use": ["sig"]}, {"type": "EC", "crv": "P-256", "use": ["sig"]}])
    return [key | {"kid": f"{name}-{key['kty']}"} for key in keys.export_jwks(private=True)["keys"]]


def endpoint(kind, path, methods, **options):
    kwargs = {"client_authn_method": methods, **options}
    return {"path": path, "class": f"idpyoidc.server.oidc.{kind}", "kwargs": kwargs}


def token(kind, **options):
    return {"class": f"idpyoidc.server.token.{kind}", "kwargs": {"lifetime": LIFETIME, **options}}


class Provider:
    """A server of idpyoidc, replaced when its settings change. Its sessions end then."""

    def __init__(self, issuer):
        self.issuer, self.id_token = issuer, ""
        self.keys = {name: new_keys(name) for name in ("first", "second", "unknown")}

    def configure(self, people, clients, settings):
        key = settings.get("key", "first")
        self.settings = settings
        self.published = self.keys["first" if key == "unknown" else key]
        keys = KeyJar()
        for owner in ("", self.issuer):
            keys.import_jwks({"keys": self.keys[key]}, owner)
        self.server = Server(self.configuration(people), keyjar=keys)
        self.method = self.server.context.authn_broker["password"]["method"]
        self.method.template_handler = Form()
        # The token endpoint accepts only its own address as the audience of client assertions. The empty name adds the
        # issuer, as in idpyoidc's UserInfo endpoint.
        self.server.get_endpoint("token").allowed_targets.append("")
        for client in clients:
            self.register(client)

    def configuration(self, people):
        settings = self.settings
        by_scope = settings.get("claims", "id_token") == "id_token"
        person = settings.get("person", {})
        subject = {"class": PublicID, "kwargs": {"salt": settings.get("subject", "subject")}}
        return {
            "issuer": self.issuer,
            "jwks_uri": f"{self.issuer}/jwks",
            "httpc_params": {"verify": True, "timeout": 4},
            "preference": {"id_token_signing_alg_values_supported": ALGORITHMS},
            "cookie_handler": {
                "class": "idpyoidc.server.cookie_handler.CookieHandler",
                "kwargs": {"crypt_config": default_crypt_config()},
            },
            "endpoint": {
                "provider_config": endpoint(
                    "provider_config.ProviderConfiguration", ".well-known/openid-configuration", None
                ),
                "authorization": endpoint(
                    "authorization.Authorization", "authorization", None, response_types_supported=["code"]
                ),
                "token": endpoint("token.Token", "token", METHODS),
                "userinfo": endpoint("userinfo.UserInfo", "userinfo", ["bearer_header"]),
            },
            "token_handler_args": {
                "code": {"lifetime": LIFETIME},
                "token": token("jwt_token.JWTToken"),
                "id_token": token("id_token.IDToken", add_claims_by_scope=by_scope),
            },
            "session_params": {"sub_func": {"public": subject}},
            "authentication": {
                "password": {
                    "acr": settings.get("acr", PASSWORD_ACR),
                    "class": "idpyoidc.server.user_authn.user.UserPassJinja2",
                    "kwargs": {"template": "", "db": {"class": Passwords, "kwargs": {"people": people}}},
                }
            },
            "userinfo": {"class": People, "kwargs": {"people": people, "person": person}},
            "add_ons": {
                "pkce": {
                    "function": "idpyoidc.server.oauth2.add_on.pkce.add_support",
                    "kwargs": {"essential": True},
                }
            },
        }

    def register(self, client):
        information = {
            "client_id": client["clientId"],
            "redirect_uris": [(client["redirectUri"], {})],
            "response_types_supported": ["code"],
            "allowed_scopes": ["openid", "email", "profile"],
            "token_endpoint_client_authn_method": [client["method"]],
            "id_token_signed_response_alg": self.settings.get("algorithm", ALGORITHMS[0]),
        }
        if client["method"] == "private_key_jwt":
            self.server.keyjar.add_url(client["clientId"], client["jwksUri"])
        else:
            information["client_secret"] = self.settings.get("secret", client["secret"])
        self.server.context.cdb[client["clientId"]] = information

    def answer(self, path, text, http_info):
        """Return the answer of an endpoint: a dictionary of idpyoidc, or a status and an object."""
        if path == "jwks":
            public = KeyJar()
            public.import_jwks({"keys": self.published}, "")
            return 200, public.export_jwks()
        if path == "verify":
            return self.verify(dict(parse_qsl(text)))
        found = next((each for each in self.server.endpoint.values() if each.endpoint_path == path), None)
        if found is None:
            return 404, {"error": "not_found"}
        try:
            request = found.parse_request(text, http_info=http_info)
        except UnAuthorizedClient as error:
            return 401, {"error": "invalid_client", "error_description": str(error)}
        if isinstance(request, ResponseMessage) and "error" in request:
            return 400, request.to_dict()
        done = found.process_request(request, http_info=http_info)
        if isinstance(done, ResponseMessage) and "error" in done:
            return 400, done.to_dict()
        if "http_response" in done:
            return done
        self.id_token = done.get("response_args", {}).get("id_token", self.id_token)
        return found.do_response(request=request, **done)

    def verify(self, form):
        """Check the password; return the redirect to the client, or the form again."""
        asked = self.method.unpack_token(form["token"])
        request = AuthorizationRequest().from_urlencoded(asked["query"])
        authorization = self.server.get_endpoint("authorization")
        if "cancel" in form:
            error = {"error": "access_denied", "error_description": "The user cancelled"}
            refused = authorization.authentication_error_response(request, **error)
            return authorization.do_response(refused, request, return_uri=request["redirect_uri"])
        try:
            user = self.method.verify(username=form["username"], password=form["password"])
        except FailedAuthentication:
            return {"http_response": FORM.format(token=form["token"], message="Wrong user name or password")}
        arguments = (request, user, asked["authn_class_ref"], asked["iat"], self.method)
        session = authorization.create_session(*arguments)
        event = self.server.context.session_manager.get_authentication_event(session)
        event["authn_time"] -= self.settings.get("ageSeconds", 0)
        done = authorization.authz_part2(request=request, session_id=session)
        return authorization.do_response(request=request, **done)

    def last_id_token(self):
        """Return the algorithm and the claims of the last ID token."""
        parsed = factory(self.id_token).jwt
        return {"algorithm": parsed.headers["alg"], "claims": parsed.payload()}
