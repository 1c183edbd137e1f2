#!/usr/bin/env python3
"""Test with schemathesis that a running server conforms to its OpenAPI description.
SCIM_TOKEN=... [SCIM_REVOKED_TOKEN=...] run_schemathesis.py BASE_URL; for a new tenant without rate limits."""
import json, os, pathlib, re, subprocess, sys, tempfile
from urllib.request import ProxyHandler, build_opener

# These warnings mean that something was not tested. Inference is off because it guesses links that do not exist.
CONFIG = """
checks.positive_data_acceptance.expected-statuses = [%s]
warnings.fail-on = ["unresolvable_reference", "missing_deserializer", "unsupported_regex", "rate_limited"]
phases.stateful.inference.algorithms = []
"""
PATCH = [{"op": {"enum": ["add", "replace"]}, "value": {"type": "object"}},  # whose values have no schema
         {"op": {"enum": ["add", "replace", "remove"]}, "path": {"type": "string", "minLength": 1}}]


def tolerate(schema, *also):
    """Allow the values that the server also accepts: null for an absent value, a string for a list or an object."""
    if kinds := schema.get("type"):
        schema["type"] = sorted({*([kinds] if isinstance(kinds, str) else kinds), *also})
    for name, part in schema.get("properties", {}).items():
        if name in ("schemas", "password"):
            part.clear()  # the server ignores these values
        tolerate(part, *([] if name in schema.get("required", []) else ["null"]),
                 *(["string"] if name in ("manager", "attributes", "excludedAttributes") else []))
    if "items" in schema:
        tolerate(schema["items"], "null", "string")


def prepare(api, accepted, stateful):
    """Restrict the description to the responses of this credential; return the operations by name."""
    schemas, paths = api["components"]["schemas"], api["paths"]
    operations = {f"{method.upper()} {path}": paths[path][method] for path in paths for method in paths[path]}
    # Schemathesis reads "$ref" in this example as a reference, and then does not check responses with groups.
    schemas["ScimGroup"].pop("example", None)
    for name in "ScimUserBody", "ScimGroupBody", "ScimSearch", "ScimPatch":
        tolerate(schemas[name])
        if stateful:  # schemathesis takes it for the ID of a missing resource, and then creates nothing
            schemas[name]["properties"].pop("externalId", None)
    either = [{"type": "object", "required": [*one], "properties": {"path": False} | one} for one in PATCH]
    schemas["ScimPatch"]["properties"]["Operations"] |= {"minItems": 1, "items": {"anyOf": either}}
    for name, operation in operations.items():
        # Schemathesis reads a created resource only if a link gives all parameters.
        operation["parameters"] = [p for p in operation.get("parameters", []) if p["in"] == "path" or not stateful]
        for parameter in operation["parameters"]:
            parameter["schema"].pop("format", None)  # the server clamps larger integers than int64
        for status, response in list(operation["responses"].items()):
            # No request here causes 403, 429 or 5xx, and every request without a valid credential gets 401.
            public = accepted or {} in operation["security"]
            if status in ("403", "429") or status[0] == "5" or not public and status != "401":
                del operation["responses"][status]
            for verb in ("get", "replace", "patch", "delete") if stateful and status in ("201", "204") else ():
                target = f"{verb}_{operation['operationId'].split('_')[1]}"
                parameters = {"id": "$response.body#/id" if name[:4] == "POST" else "$request.path.id"}
                response.setdefault("links", {})[target] = {"operationId": target, "parameters": parameters}
    return operations


def run(base, api, name, token, phases, least, seed=1):
    """Run schemathesis with one credential; return whether the run passed."""
    # Only the paths for SCIM tokens. Other tests cover sign-in, which needs ceremonies and limits attempts.
    api["paths"] = {path: item for path, item in api["paths"].items() if re.match("/api/(scim|developers)/", path)}
    operations = prepare(api, accepted := token == os.environ["SCIM_TOKEN"], stateful := phases == "stateful")
    # The excluded check needs a second identity with its own objects.
    options = f"""--url {base} --phases {phases} --checks all --exclude-checks object_level_authorization --seed {seed}
        --max-examples {60 if stateful else 20} --generation-database none --continue-on-failure --request-timeout 10
        --no-color --report json --report-json-path report.json""".split()
    options += ["--header", f"Authorization: Bearer {token}"] if token else []
    with tempfile.TemporaryDirectory() as folder:
        # JSON Schema cannot describe filters, cursors and members' IDs, so 400 is an answer to valid data too.
        expected = '"2xx", "400", "404", "409"' if accepted else '"2xx", "401"'
        pathlib.Path(folder, "schemathesis.toml").write_text(CONFIG % expected)
        # From a file, because schemathesis skips the operation that it loads a description from.
        pathlib.Path(folder, "openapi.json").write_text(json.dumps(api))
        # Bypass the system's proxy.
        done = subprocess.run([sys.executable, "-m", "schemathesis.cli", "run", "openapi.json", *options], cwd=folder,
                              env=os.environ | {"NO_PROXY": "*", "no_proxy": "*"}, capture_output=True, text=True)
        report = json.loads(path.read_text()) if (path := pathlib.Path(folder, "report.json")).exists() else {}
    cases, rates = report.get("test_cases", {}).get("generated", 0), report.get("valid_rates", {})
    # A run passes only if it tests each operation and, with a valid token, all but two succeed. The server chooses IDs
    # at random, so the seed does not decide whether a change finds its object.
    failed = [one for one in operations if not any(phase["accepted"] for phase in rates.get(one, {}).values())]
    links = int((re.search(r"API Links: +(\d+) covered", done.stdout) or [0, 0])[1])
    enough = links >= 5 if stateful else report.get("operations", {}).get("tested") == len(operations)
    passed = enough and cases >= least and done.returncode == 0 and (name != "valid" or len(failed) <= 2)
    print(f"{name}: {cases} cases, all as described" if passed else f"{done.stdout}{done.stderr}\n{name}: FAILED with "
          f"{done.returncode}; {cases} cases of {least}; {links} links; never succeeded: {failed}", flush=True)
    return passed


if __name__ == "__main__":
    base, token = sys.argv[1].rstrip("/"), os.environ["SCIM_TOKEN"]
    text = build_opener(ProxyHandler({})).open(f"{base}/api/developers/openapi.json", timeout=10).read()
    # An unknown token in the valid format. The letter changed is not the last, of which some bits are ignored.
    unknown = token[:-9] + ("a" if token[-9] != "a" else "b") + token[-8:]
    # Two stateful runs, because the server's random IDs can make schemathesis end one early.
    runs = [("links", token, "stateful", 50, 2), ("links", token, "stateful", 50, 4), ("none", None, "coverage", 1500),
            ("revoked", os.environ.get("SCIM_REVOKED_TOKEN", unknown), "fuzzing", 250),
            ("valid", token, "examples,coverage,fuzzing", 2000)]
    sys.exit(not all([run(base, json.loads(text), *one) for one in runs]))
