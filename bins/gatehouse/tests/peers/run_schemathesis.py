#!/usr/bin/env python3
"""Prove with schemathesis that a running server answers as its own OpenAPI description says.
SCIM_TOKEN=... [SCIM_REVOKED_TOKEN=...] run_schemathesis.py BASE_URL; for a new tenant without rates."""
import json, os, pathlib, re, subprocess, sys, tempfile
from urllib.request import ProxyHandler, build_opener

# fail-on: each of these says that something was not tested. No inference: it guesses links that lead nowhere.
CONFIG = """
checks.positive_data_acceptance.expected-statuses = [%s]
warnings.fail-on = ["unresolvable_reference", "missing_deserializer", "unsupported_regex", "rate_limited"]
phases.stateful.inference.algorithms = []
"""
PATCH = [{"op": {"enum": ["add", "replace"]}, "value": {"type": "object"}},  # its operations, which are left open
         {"op": {"enum": ["add", "replace", "remove"]}, "path": {"type": "string", "minLength": 1}}]


def tolerate(schema, *also):
    """Allow what the server takes on purpose: null for nothing, a bare string for a list or a complex value."""
    if kinds := schema.get("type"):
        schema["type"] = sorted({*([kinds] if isinstance(kinds, str) else kinds), *also})
    for name, part in schema.get("properties", {}).items():
        if name in ("schemas", "password"):
            part.clear()  # ignored, whatever it is
        tolerate(part, *([] if name in schema.get("required", []) else ["null"]),
                 *(["string"] if name in ("manager", "attributes", "excludedAttributes") else []))
    if "items" in schema:
        tolerate(schema["items"], "null", "string")


def prepare(api, accepted, stateful):
    """Fit the description to one run, as strictly as the credential allows; returns its operations by name."""
    schemas, paths = api["components"]["schemas"], api["paths"]
    operations = {f"{method.upper()} {path}": paths[path][method] for path in paths for method in paths[path]}
    # The tool takes "$ref" in this example for a reference, and then leaves the answers with groups unchecked.
    schemas["ScimGroup"].pop("example", None)
    for name in "ScimUserBody", "ScimGroupBody", "ScimSearch", "ScimPatch":
        tolerate(schemas[name])
        if stateful:  # the tool takes it for the id of something that nothing makes, and then never creates anything
            schemas[name]["properties"].pop("externalId", None)
    either = [{"type": "object", "required": [*one], "properties": {"path": False} | one} for one in PATCH]
    schemas["ScimPatch"]["properties"]["Operations"] |= {"minItems": 1, "items": {"anyOf": either}}
    for name, operation in operations.items():
        # Whether what was created is there, the tool looks only if a link gives all parameters.
        operation["parameters"] = [p for p in operation.get("parameters", []) if p["in"] == "path" or not stateful]
        for parameter in operation["parameters"]:
            parameter["schema"].pop("format", None)  # what is beyond int64 is taken as the largest there is
        for status, response in list(operation["responses"].items()):
            # Nothing here provokes 403, 429 or 5xx, and whoever has no valid credential gets 401 and nothing else.
            public = accepted or {} in operation["security"]
            if status in ("403", "429") or status[0] == "5" or not public and status != "401":
                del operation["responses"][status]
            for verb in ("get", "replace", "patch", "delete") if stateful and status in ("201", "204") else ():
                target = f"{verb}_{operation['operationId'].split('_')[1]}"
                follow = {"id": "$response.body#/id" if name[:4] == "POST" else "$request.path.id"}
                response.setdefault("links", {})[target] = {"operationId": target, "parameters": follow}
    return operations


def run(base, api, name, token, phases, least, seed=1):
    """One run with one credential; true if all is well."""
    # What a SCIM token is for. Signing in takes ceremonies, and counts attempts: tests of our own go through it.
    api["paths"] = {path: item for path, item in api["paths"].items() if re.match("/api/(scim|developers)/", path)}
    operations = prepare(api, accepted := token == os.environ["SCIM_TOKEN"], stateful := phases == "stateful")
    # The one check that is left out takes a second identity with objects of its own.
    options = f"""--url {base} --phases {phases} --checks all --exclude-checks object_level_authorization --seed {seed}
        --max-examples {60 if stateful else 20} --generation-database none --continue-on-failure --request-timeout 10
        --no-color --report json --report-json-path report.json""".split()
    options += ["--header", f"Authorization: Bearer {token}"] if token else []
    with tempfile.TemporaryDirectory() as folder:
        # No JSON Schema says what a filter, a cursor or a member's id must be: 400 is an answer to valid data too.
        expected = '"2xx", "400", "404", "409"' if accepted else '"2xx", "401"'
        pathlib.Path(folder, "schemathesis.toml").write_text(CONFIG % expected)
        # From a file, as the tool leaves out the operation that it loads a description from.
        pathlib.Path(folder, "openapi.json").write_text(json.dumps(api))
        # Whatever proxy the system has, the server is asked directly.
        done = subprocess.run([sys.executable, "-m", "schemathesis.cli", "run", "openapi.json", *options], cwd=folder,
                              env=os.environ | {"NO_PROXY": "*", "no_proxy": "*"}, capture_output=True, text=True)
        report = json.loads(path.read_text()) if (path := pathlib.Path(folder, "report.json")).exists() else {}
    cases, rates = report.get("test_cases", {}).get("generated", 0), report.get("valid_rates", {})
    # A run that tests little proves little: each operation is tested, and with a valid token all but two succeed: ids
    # are the server's, so whether a change meets what it can change is not the seed's alone.
    failed = [one for one in operations if not any(phase["accepted"] for phase in rates.get(one, {}).values())]
    links = int((re.search(r"API Links: +(\d+) covered", done.stdout) or [0, 0])[1])
    enough = links >= 5 if stateful else report.get("operations", {}).get("tested") == len(operations)
    right = enough and cases >= least and done.returncode == 0 and (name != "valid" or len(failed) <= 2)
    print(f"{name}: {cases} cases, all as described" if right else f"{done.stdout}{done.stderr}\n{name}: FAILED with "
          f"{done.returncode}; {cases} cases of {least}; {links} links; never succeeded: {failed}", flush=True)
    return right


if __name__ == "__main__":
    base, token = sys.argv[1].rstrip("/"), os.environ["SCIM_TOKEN"]
    text = build_opener(ProxyHandler({})).open(f"{base}/api/developers/openapi.json", timeout=10).read()
    # Looks right and is unknown: another letter well inside the secret, as the last one may not count in full.
    unknown = token[:-9] + ("a" if token[-9] != "a" else "b") + token[-8:]
    # A stateful run ends early if the ids that the server makes up confuse the tool; hence there are two.
    runs = [("links", token, "stateful", 50, 2), ("links", token, "stateful", 50, 4), ("none", None, "coverage", 1500),
            ("revoked", os.environ.get("SCIM_REVOKED_TOKEN", unknown), "fuzzing", 250),
            ("valid", token, "examples,coverage,fuzzing", 2000)]
    sys.exit(not all([run(base, json.loads(text), *one) for one in runs]))
