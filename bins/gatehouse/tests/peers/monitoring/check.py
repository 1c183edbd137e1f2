"""Runs Prometheus with the alert rules against a server, and asks it every question of the dashboard.

check.py SERVER FOLDER SHIPPED METRICS: the server's URL, an empty folder, the folder of the rules, and a file with the metrics reference.
"""

import json
import pathlib
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

SERVER, FOLDER, SHIPPED, METRICS = sys.argv[1], *(pathlib.Path(word) for word in sys.argv[2:])
# No proxy, whatever the environment says: everything is on this machine.
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))
# Panels that show data for any server that has answered requests.
ALWAYS = {"Requests", "Duration of requests", "Connections", "Database connections", "Failed sign-ins", "Sign-ins and changes"}


def get(url):
    with OPENER.open(url, timeout=10) as response:
        return response.read()


def wait(what, condition):
    for _ in range(300):
        try:
            found = condition()
        except (OSError, ValueError):
            found = None
        if found:
            return found
        time.sleep(0.1)
    sys.exit(f"waited 30 seconds for {what}")


def use_server():
    """Signs in with a wrong password, so that there are events besides requests."""
    body = json.dumps({"tenant": "monitored", "email": "ada@monitored.example", "password": "not the password"}).encode()
    headers = {"Content-Type": "application/json", "Origin": SERVER.replace("127.0.0.1", "localhost")}
    try:
        OPENER.open(urllib.request.Request(f"{SERVER}/api/auth/sign-in", body, headers), timeout=10)
        sys.exit("a wrong password was accepted")
    except urllib.error.HTTPError as error:
        # After some attempts, more are refused.
        assert error.code in (401, 429), (error.code, error.read())
    get(f"{SERVER}/auth/login")


def configuration():
    FOLDER.joinpath("prometheus.yml").write_text(
        f"""
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: ["{SHIPPED / 'alerts.yml'}"]
scrape_configs:
  - job_name: gatehouse
    static_configs: [{{targets: ["{urllib.parse.urlsplit(SERVER).netloc}"]}}]
"""
    )


def metrics_of(expression):
    return {re.sub(r"_(bucket|sum|count)$", "", name) for name in re.findall(r"gatehouse_[a-z_]+", expression)}


def main():
    subprocess.run(["promtool", "check", "rules", SHIPPED / "alerts.yml"], check=True)
    subprocess.run(["promtool", "test", "rules", SHIPPED / "alerts.test.yml"], check=True, cwd=SHIPPED)
    known = set(re.findall(r"^\| `(gatehouse_[a-z_]+)`", METRICS.read_text(), re.M))
    dashboard = json.loads(SHIPPED.joinpath("dashboard.json").read_text())
    panels = {panel["title"]: [target["expr"] for target in panel["targets"]] for panel in dashboard["panels"]}
    asked = set().union(*(metrics_of(query) for queries in panels.values() for query in queries))
    asked |= metrics_of(SHIPPED.joinpath("alerts.yml").read_text())
    assert asked <= known, f"no such metric: {sorted(asked - known)}"

    configuration()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    arguments = [f"--config.file={FOLDER}/prometheus.yml", f"--storage.tsdb.path={FOLDER}/tsdb"]
    arguments += [f"--web.listen-address={address}", "--log.level=error"]
    prometheus = subprocess.Popen(["prometheus", *arguments])
    try:
        ask(f"http://{address}/api/v1", panels)
    finally:
        prometheus.terminate()
        prometheus.wait()


def ask(api, panels):
    def query(text):
        text = text.replace("$__rate_interval", "10s").replace("$instance", ".*")
        answer = json.loads(get(f"{api}/query?{urllib.parse.urlencode({'query': text})}"))
        assert answer["status"] == "success", (text, answer)
        return answer["data"]["result"]

    wait("a scrape", lambda: query('up{job="gatehouse"} == 1'))
    wait("the rate of failed sign-ins", lambda: use_server() or query(panels["Failed sign-ins"][0]))

    with_data = {title for title, queries in panels.items() if any([query(text) for text in queries])}
    missing = ALWAYS - with_data
    assert not missing, f"no data for {sorted(missing)}"

    def rules():
        groups = json.loads(get(f"{api}/rules"))["data"]["groups"]
        found = [rule for group in groups for rule in group["rules"]]
        return found if found and all(rule["health"] != "unknown" for rule in found) else None

    found = wait("the rules", rules)
    broken = [(rule["name"], rule.get("lastError")) for rule in found if rule["health"] != "ok"]
    assert not broken, broken
    firing = [rule["name"] for rule in found if rule["state"] == "firing"]
    assert not firing, f"a healthy server raises {firing}"
    print(f"{len(found)} alert rules are healthy, {len(with_data)} of {len(panels)} panels have data")


main()
