"""Checks the log of a server with an independent implementation of transparency logs, and with witnesses.

check.py FOLDER before BASE_URL: lets the log grow, reads its tiles, and cosigns its checkpoints.
check.py FOLDER after BASE_URL OTHER_URL: the other server continues from an older copy of the database.
With PROGRAM, TENANT, PAT, SCIM and the server's own variables.
"""

import base64
import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

from aics_tlog import parse_note, parse_vkey, tiles, verify_checkpoint, verify_inclusion
from aics_tlog.checkpoint import checkpoint_from_note

folder, phase, base = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
program, tenant, pat, scim = (os.environ[name] for name in ("PROGRAM", "TENANT", "PAT", "SCIM"))
AUDIT = "/api/settings/audit-log"


def request(base, method, path, token, body=None):
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json", "Accept": "*/*"}
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(base + path, data, headers, method=method)) as response:
        return response.read()


def run(*words, code=0):
    done = subprocess.run([program, *words, "--json"], capture_output=True, text=True)
    assert done.returncode == code, (words, done.returncode, done.stdout, done.stderr)
    return json.loads(done.stdout) if done.stdout else done.stderr


def create_users(base, prefix, count):
    for number in range(count):
        request(base, "POST", "/api/scim/v2/Users", scim, {"userName": f"{prefix}{number}@example.com"})


def await_size(base, size):
    """Waits until at least this many entries are sealed, and returns the checkpoint."""
    deadline = time.monotonic() + 30
    while True:
        note = request(base, "GET", f"{AUDIT}/checkpoint", pat).decode()
        if checkpoint_from_note(note)[0].size >= size:
            return note
        assert time.monotonic() < deadline, note
        time.sleep(0.1)


class Tiles:
    """Reads tiles from the API."""

    def read_tile(self, level, index, width):
        try:
            return request(base, "GET", f"{AUDIT}/{tiles.tile_path(level, index, width)}", pat)
        except urllib.error.HTTPError as error:
            assert error.code == 404, error
            return None

    def read_entry_bundle(self, index, width):
        return None


def witness(name):
    """Returns a function that cosigns as this witness, and its public key."""
    key = folder / f"{name}.key"
    public = folder / f"{name}.pub"
    if not key.exists():
        public.write_text(run("audit", "witness", "key", "--name", f"{name}.example/w", "--out", str(key))["key"])

    def cosign(base, code=0):
        words = ["--token-file", str(folder / "token"), "--log-key-file", str(folder / "log.key")]
        directory = folder / f"{name}-witnessed"
        if not directory.exists():
            directory.mkdir()
            words.append("--first")
        where = ["--url", base, "--key", str(key), "--dir", str(directory)]
        return run("audit", "witness", "cosign", *where, *words, code=code)

    return cosign, public.read_text().strip()


def verify(note, witness_keys, quorum):
    log_key = parse_vkey((folder / "log.key").read_text().split()[0])
    return verify_checkpoint(parse_note(note), log_key, [parse_vkey(key) for key in witness_keys], quorum)


def policy(quorum, **witnesses):
    path = folder / f"policy-{quorum}"
    lines = [f"witness {name} {key}" for name, key in witnesses.items()]
    path.write_text("\n".join([*lines, f"group all all {' '.join(witnesses)}", f"quorum {quorum}", ""]))
    return str(path)


class IndependentWitness:
    """A witness of another implementation, as a service."""

    def __init__(self):
        self.config = str(folder / "independent.json")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        public = folder / "independent.pub"
        if not public.exists():
            files = ["--db", "independent.db", "--key-file", "independent.key"]
            shown = self.command("init", "--name", "independent.example/w", *files)
            public.write_text(next(word for word in shown.split() if word.startswith("independent.example/w+")))
            log_key = (folder / "log.key").read_text().split()[0]
            self.command("add-log", "--origin", log_key.split("+")[0], "--vkey", log_key)
        self.key = public.read_text()

    def command(self, *words):
        return subprocess.run(self.words(*words), check=True, capture_output=True, text=True).stdout

    def words(self, command, *words):
        return [sys.executable, "-m", "aics_witness", command, "--config", self.config, *words]

    def __enter__(self):
        words = self.words("serve", "--listen", f"127.0.0.1:{self.port}")
        self.process = subprocess.Popen(words, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 30
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return self
            except OSError:
                assert time.monotonic() < deadline and self.process.poll() is None, "the witness does not start"
                time.sleep(0.05)

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def request(self, base, code=0):
        """Requests its cosignature for the newest checkpoint."""
        path = folder / "policy-independent"
        logs = [f"log {key}" for key in (folder / "log.key").read_text().split()]
        lines = [*logs, f"witness independent {self.key} http://127.0.0.1:{self.port}", "quorum independent", ""]
        path.write_text("\n".join(lines))
        out = folder / "cosigned"
        words = ["--url", base, "--token-file", str(folder / "token"), "--policy", str(path), "--out", str(out)]
        return run("audit", "witness", "request", *words, code=code), out.read_text(), str(path), str(out)


def audit(*words, code=0):
    return run("audit", "verify", "--tenant", tenant, *words, code=code)


first, first_key = witness("first")
second, second_key = witness("second")

if phase == "before":
    (folder / "token").write_text(pat)
    (folder / "log.key").write_text("\n".join(run("audit", "key", "--tenant", tenant)["keys"]))
    create_users(base, "a", 20)
    await_size(base, 20)
    begun = first(base)
    assert begun["before"] == 0, begun
    old = checkpoint_from_note(Path(begun["file"]).read_text())[0]
    with IndependentWitness() as independent:
        requested, note, policy_file, _ = independent.request(base)
        assert requested["cosigned"] == ["independent"] and verify(note, [independent.key], 1).ok, requested
        # The same checkpoint again, perhaps a newer one: the witness knows one that needs a proof or none.
        assert independent.request(base)[0]["quorum"]
        create_users(base, "b", 280)
        await_size(base, 300)
        requested, note, policy_file, out = independent.request(base)
        assert requested["size"] >= 300 and verify(note, [independent.key], 1).ok, requested
        assert audit("--checkpoint", out, "--policy", policy_file)["count"] == 0
    await_size(base, 300)
    grown = first(base)
    assert (grown["before"], grown["size"] >= 300) == (begun["size"], True), grown

    # The checkpoint verifies with its cosignature, and not without.
    note = Path(grown["file"]).read_text()
    result = verify(note, [first_key], 1)
    assert result.ok, result
    assert not verify(note, [first_key, second_key], 2).ok
    assert not verify(note.replace("\n— first", "\n\u2014 third"), [first_key], 1).ok
    new = checkpoint_from_note(note)[0]

    # Tiles have the root of the checkpoint, and prove consistency and inclusion.
    reader = Tiles()
    assert reader.read_tile(0, 0, None) is not None, "the first tile is full"
    assert reader.read_tile(0, 1, 255) is None, "a tile beyond the log"
    root = tiles.tree_root_from_tiles(reader, new.size)
    assert root == new.root, (root, new.root)
    assert tiles.tree_root_from_tiles(reader, old.size, new.size) == old.root
    path = tiles.inclusion_proof_from_tiles(reader, 7, new.size)
    leaf = reader.read_tile(0, 0, None)[7 * 32 : 8 * 32]
    assert verify_inclusion(leaf, 7, new.size, path, new.root)
    consistency = tiles.consistency_proof_from_tiles(reader, old.size, new.size)
    answer = json.loads(request(base, "GET", f"{AUDIT}/consistency?from={old.size}&to={new.size}", pat))
    assert [base64.b64encode(hash).decode() for hash in consistency] == answer["path"]

    # The log in the database extends what the witness has cosigned.
    one = policy("first", first=first_key)
    assert audit("--checkpoint", grown["file"], "--policy", one)["count"] == 0
    found = audit("--checkpoint", grown["file"], "--policy", policy("all", first=first_key, second=second_key), code=1)
    assert [finding["finding"] for finding in found["findings"]] == ["NOT_WITNESSED"], found
    print(f"audit: {new.size} entries, tiles, proofs and cosignatures verified")
else:
    other = sys.argv[4]
    newest = first(base)
    # The other server shows an older log, and then one that went on differently.
    rolled_back = first(other, code=1)
    assert "rolled back" in rolled_back["problem"], rolled_back
    create_users(other, "c", newest["size"])
    forked = await_size(other, newest["size"] + 1)
    unproved = first(other, code=1)
    assert "nothing proves" in unproved["problem"], unproved
    assert Path(unproved["evidence"]).read_text().startswith(f"old {newest['size']}\n")
    with IndependentWitness() as independent:
        refused, _, _, _ = independent.request(other, code=1)
        assert not refused["quorum"] and len(refused["problems"]) == 1, refused
        assert independent.request(base)[0]["quorum"]
    # A new witness knows only the other server's log, so the two checkpoints have one cosignature each.
    fooled = second(other)
    both = policy("all", first=first_key, second=second_key)
    for file in (newest["file"], fooled["file"]):
        assert not verify(Path(file).read_text(), [first_key, second_key], 2).ok
    found = audit("--checkpoint", newest["file"], "--checkpoint", fooled["file"], "--policy", both, code=1)
    findings = [finding["finding"] for finding in found["findings"]]
    assert sorted(findings) in (["FORKED", "NOT_WITNESSED", "NOT_WITNESSED"], ["NOT_WITNESSED", "NOT_WITNESSED", "ROLLED_BACK"]), findings
    # The first witness still cosigns the log that it knows.
    create_users(base, "d", 60)
    await_size(base, checkpoint_from_note(forked)[0].size + 1)
    assert first(base)["before"] == newest["size"]
    found = audit("--checkpoint", fooled["file"], code=1)
    assert [finding["finding"] for finding in found["findings"]] == ["FORKED"], found
    print("audit: a rolled back, a forked and a split log were found")
