"""Generates a client with openapi-python-client, checks that it is complete and compiles, and calls its functions."""
import compileall, datetime, importlib, json, os, pathlib, subprocess, sys, time, typing

import attrs

PACKAGE = "gatehouse_client"
# The tool reads text/xml as text, and needs this setting for other XML types.
CONFIG = """
content_type_overrides:
  application/samlmetadata+xml: text/xml
"""
# client.py is the same for every description, and mypy reports an error for its __exit__.
MYPY = f"""
[mypy]
[mypy-{PACKAGE}.client]
ignore_errors = True
"""


def generate(description, folder):
    """Generate the client; return the problems. Each warning is one: the tool omits the part that it warns about."""
    (folder / "config.yml").write_text(CONFIG)
    tools = pathlib.Path(sys.executable).parent
    done = subprocess.run(
        [tools / "openapi-python-client", "generate", "--path", description, "--config", folder / "config.yml",
         "--meta", "none", "--output-path", folder / PACKAGE, "--fail-on-warning"],
        env=os.environ | {"PATH": f"{tools}:{os.environ['PATH']}"},  # it formats with ruff
        capture_output=True, text=True)
    lines = (done.stdout + done.stderr).splitlines()
    problems = [line for line in lines if line.strip() and not line.startswith("Generating ")]
    return problems or ([f"openapi-python-client ended with {done.returncode}"] if done.returncode else [])


def functions(folder, operations):
    """Compile every file, check the types, import every module, and find a function for each operation; return the
    functions and the problems."""
    package = folder / PACKAGE
    (folder / "mypy.ini").write_text(MYPY)
    words = ["--config-file", folder / "mypy.ini", "--cache-dir", pathlib.Path(sys.prefix, "mypy"), "-p", PACKAGE]
    mypy = subprocess.Popen([sys.executable, "-m", "mypy", *words], cwd=folder, stdout=subprocess.PIPE, text=True)
    faults, found = [] if compileall.compile_dir(package, quiet=1) else ["not every file compiles"], {}
    sys.path.insert(0, str(folder))
    for file in sorted(package.rglob("*.py")):
        name = ".".join(file.relative_to(folder).with_suffix("").parts).removesuffix(".__init__")
        try:
            module = importlib.import_module(name)
        except Exception as error:
            faults.append(f"{name} cannot be imported: {error!r}")
            continue
        if hasattr(module, "sync_detailed") and hasattr(module, "asyncio_detailed"):
            found[file.stem] = module.sync_detailed
    faults += [f"{name}: there is no function for this operation" for name in operations if name not in found]
    faults += [f"{name}: there is no operation for this function" for name in found if name not in operations]
    output = mypy.communicate()[0]
    faults += output.splitlines() if mypy.returncode else []
    return found, faults


class Calls:
    """Calls of the generated functions. Each answer is compared with what the server sent."""

    def __init__(self, operations, schemas, functions):
        self.operations, self.schemas, self.functions = operations, schemas, functions
        self.called, self.read, self.answers, self.faults = set(), set(), [], []

    def __call__(self, name, *path, client, status=200, body=None, **parameters):
        function = self.functions[name]
        if body is not None:
            kinds = typing.get_type_hints(function)["body"]
            kind = next(one for one in [kinds, *typing.get_args(kinds)] if hasattr(one, "from_dict"))
            parameters["body"] = kind.from_dict(body)
            self.compare(f"{name}, body", parameters["body"].to_dict(), body)
        answer = function(*path, client=client, **parameters)
        expected = status if isinstance(status, tuple) else (status,)
        assert (status := answer.status_code) in expected, f"{name}: {status} {answer.content.decode():.2000}"
        self.called.add(name)
        where, content = f"{name}, {status}", self.operations[name]["responses"][str(status)].get("content", {})
        media = answer.headers.get("content-type", "").partition(";")[0]
        assert media in content if content else not answer.content, f"{where}: {media} {answer.content!r:.200}"
        # The tool reads only the first media type.
        if media.endswith("json") and media == next(iter(content)):
            sent, schema = json.loads(answer.content), content[media]["schema"]
            self.answers.append({"operation": name, "status": status, "media": media, "body": sent})
            kind = schema.get("$ref", "").rpartition("/")[2]
            if "properties" in self.schemas.get(kind, {}):
                assert type(answer.parsed).__name__ == kind, f"{where}: {answer.parsed!r:.200}"
            parsed = answer.parsed
            read = [one.to_dict() for one in parsed] if isinstance(parsed, list) else parsed.to_dict()
            self.compare(where, read, sent)
            self.note(answer.parsed)
        elif media == "application/octet-stream":
            assert answer.parsed.payload.read() == answer.content, f"{where}: {answer.parsed!r:.200}"
        elif media:
            assert answer.parsed == answer.content.decode(), f"{where}: {answer.parsed!r:.200}"
        return answer

    def note(self, value):
        """Record the classes in an answer."""
        if hasattr(value, "to_dict"):
            self.read.add(type(value).__name__)
            value = [getattr(value, field.name) for field in attrs.fields(type(value))]
        if isinstance(value, dict | list):
            for part in value.values() if isinstance(value, dict) else value:
                self.note(part)

    def compare(self, where, parsed, sent):
        """Record each difference. Timestamps are equal if they are the same instant."""
        if isinstance(parsed, dict) and isinstance(sent, dict):
            if odd := parsed.keys() ^ sent.keys():
                self.faults.append(f"{where}: {sorted(odd)} lost or invented")
            for name in parsed.keys() & sent.keys():
                self.compare(f"{where}.{name}", parsed[name], sent[name])
        elif isinstance(parsed, list) and isinstance(sent, list) and len(parsed) == len(sent):
            for at, (one, other) in enumerate(zip(parsed, sent)):
                self.compare(f"{where}[{at}]", one, other)
        elif parsed != sent and (not (time := moment(parsed)) or time != moment(sent)):
            self.faults.append(f"{where}: {sent!r:.200} became {parsed!r:.200}")

    def kinds(self):
        """Return the object schemas in the answers of the description."""
        found, waiting = set(), [answer for one in self.operations.values() for answer in one["responses"].values()]
        while waiting:
            part = waiting.pop()
            if isinstance(part, dict):
                name = part["$ref"].rpartition("/")[2] if isinstance(part.get("$ref"), str) else None
                if name and name not in found:
                    found.add(name)
                    waiting.append(self.schemas[name])
                waiting += [value for key, value in part.items() if not key.startswith("example")]
            elif isinstance(part, list):
                waiting += part
        return {name for name in found if "properties" in self.schemas[name]}


def moment(text):
    try:
        return datetime.datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None


def until(what, look):
    """Wait up to 30 seconds for a truthy value, and return it."""
    end = time.monotonic() + 30
    while not (found := look()):
        assert time.monotonic() < end, f"not in time: {what}"
        time.sleep(0.2)
    return found
