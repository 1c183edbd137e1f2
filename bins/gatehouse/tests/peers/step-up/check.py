"""Tests the resource servers of the documentation with two instances of the server on one database: check.py ONE OTHER
EXAMPLES, with TENANT, EMAIL and PASSWORD of a user without a second factor."""
import atexit, concurrent.futures, os, pathlib, re, subprocess, sys, threading

import requests

from proofs import Passkey

one, other, examples = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
BASE = one.replace("127.0.0.1", "localhost")  # the base URL of both instances
ROUNDS, RACERS = 5, 32
OFFLINE = "http://127.0.0.1:9"  # where nobody listens


class Address(requests.adapters.HTTPAdapter):
    """Sends from an address of this machine that is not a trusted proxy."""

    def init_poolmanager(self, *given, **named):
        super().init_poolmanager(*given, source_address=("127.0.0.9", 0), **named)


def session():
    new = requests.Session()
    new.trust_env = False
    new.mount("http://", Address())
    return new


class User:
    """A user who signs in, and has a passkey for step-ups."""

    def __init__(self):
        self.session = session()
        self.passkey = Passkey(BASE)
        self.ask(one, "/api/auth/sign-in", {"email": os.environ["EMAIL"], "password": os.environ["PASSWORD"]})
        options = self.ask(one, "/api/me/factors/passkeys/options")
        credential = self.passkey.create(options["webauthn"])
        body = {"challengeId": options["challengeId"], "credential": credential}
        self.ask(one, "/api/me/factors/passkeys/verify", body)
        self.cookies = "; ".join(f"{name}={value}" for name, value in self.session.cookies.items())

    def ask(self, instance, path, body=None):
        answer = self.session.post(instance + path, json=body or {}, headers={"Origin": BASE}, timeout=30)
        assert answer.ok, f"{path}: {answer.status_code} {answer.text}"
        return answer.json()

    def step_up(self, purpose, instance=one):
        options = self.ask(instance, "/api/auth/step-up/challenge-options", {"purpose": purpose})
        proof = {"challengeId": options["challengeId"], "factor": "WEBAUTHN"}
        proof["credential"] = self.passkey.get(options["webauthn"])
        return self.ask(instance, "/api/auth/step-up/verify", proof)["token"]


class ResourceServer:
    """A running example. Counts the actions that it took."""

    def __init__(self, program, gatehouse, tenant=os.environ["TENANT"]):
        environment = os.environ | {"GATEHOUSE": gatehouse, "TENANT": tenant, "PORT": "0"}
        self.process = subprocess.Popen(program, env=environment, stdout=subprocess.PIPE, text=True)
        self.name = program[0]
        self.url = self.process.stdout.readline().removeprefix("listening on ").strip()
        self.sealed = 0
        atexit.register(self.process.kill)
        self.reader = threading.Thread(target=self.count, daemon=True)
        self.reader.start()

    def count(self):
        for line in self.process.stdout:
            self.sealed += line == "sealed\n"

    def end(self):
        self.process.terminate()
        self.process.wait()
        self.reader.join()
        return self.sealed

    def seal(self, cookies=None, *tokens):
        """Ask for the action, and return the answer."""
        request = requests.Request("POST", f"{self.url}/payroll/seal", headers={"Cookie": cookies} if cookies else {})
        with session() as client:
            prepared = client.prepare_request(request)
            prepared.headers.update({"X-StepUp-Token": token for token in tokens})
            return client.send(prepared, timeout=30)


def challenge(answer):
    """Return the scheme and the parameters of the challenge (RFC 9110, section 11.6.1)."""
    assert answer.status_code == 401, f"{answer.status_code} {answer.text}"
    scheme, _, rest = answer.headers["WWW-Authenticate"].partition(" ")
    return scheme, dict(re.findall(r'([a-z_]+)="([^"]*)"', rest))


node, python = ["node", str(examples / "step-up.mjs")], [sys.executable, str(examples / "step_up.py")]
user = User()
servers = [ResourceServer(node, one), ResourceServer(python, other)]
expected = 0
for server in servers:
    # Who is not signed in signs in first.
    answer = server.seal()
    assert (answer.status_code, challenge(answer)) == (401, ("Bearer", {})), server.name
    # The resource server says which step-up it needs (RFC 9470, section 3).
    answer = server.seal(user.cookies)
    scheme, parameters = challenge(answer)
    assert (answer.status_code, scheme) == (401, "Bearer"), server.name
    assert parameters["error"] == "insufficient_user_authentication", parameters
    assert parameters["max_age"] == "60", parameters
    # A step-up for another action is refused and stays unused.
    foreign = user.step_up("SCIM_TOKEN_MINT")
    answer = server.seal(user.cookies, foreign)
    assert (answer.status_code, answer.json()["reason"]) == (401, "PURPOSE_MISMATCH"), answer.text
    # The step-up for this action works once.
    token = user.step_up(parameters["acr_values"])
    assert server.seal(user.cookies, token).json() == {"sealed": True}, server.name
    expected += 1
    answer = server.seal(user.cookies, token)
    assert (answer.status_code, answer.json()["reason"]) == (401, "ALREADY_USED"), answer.text
    assert challenge(answer)[1]["error"] == "insufficient_user_authentication"
    # Without the user's session, a step-up is worth nothing.
    assert challenge(server.seal(None, user.step_up(parameters["acr_values"]))) == ("Bearer", {}), server.name

# Of concurrent requests with one step-up, through two resource servers and two instances, one wins.
with concurrent.futures.ThreadPoolExecutor(RACERS) as pool:
    for number in range(ROUNDS):
        token = user.step_up("PAYROLL_SEAL", (one, other)[number % 2])
        start = threading.Barrier(RACERS)

        def race(index):
            start.wait()
            return servers[index % 2].seal(user.cookies, token)

        answers = list(pool.map(race, range(RACERS)))
        assert sorted(answer.status_code for answer in answers) == [200] + [401] * (RACERS - 1), answers
        reasons = {answer.json().get("reason") for answer in answers if answer.status_code == 401}
        assert reasons == {"ALREADY_USED"}, reasons
        expected += 1

# Another tenant's payroll, and a Gatehouse that does not answer: nothing happens.
for program in (node, python):
    foreign = ResourceServer(program, one, "ten_01jz1111111111111111111111")
    assert foreign.seal(user.cookies, user.step_up("PAYROLL_SEAL")).status_code == 403
    assert foreign.end() == 0
    alone = ResourceServer(program, OFFLINE)
    assert alone.seal(user.cookies, "stp2.x").status_code == 503
    assert alone.end() == 0

sealed = sum(server.end() for server in servers)
assert sealed == expected, (sealed, expected)
print(f"step-up at resource servers: 2 examples, 2 instances, {ROUNDS} races of {RACERS} with one winner each")
