"""Validates the Kubernetes manifests in a folder against the schemas of several versions, and checks what schemas cannot."""

import pathlib
import sys

import kubernetes_validate
import yaml

FOLDER = pathlib.Path(sys.argv[1])
# The oldest and the newest version that the manifests are for.
VERSIONS = ["1.29", "1.34"]


def manifests():
    names = yaml.safe_load(FOLDER.joinpath("kustomization.yaml").read_text())["resources"]
    files = {path.name for path in FOLDER.glob("*.yaml")} - {"kustomization.yaml"}
    assert set(names) == files, f"kustomization.yaml lists {names}"
    return [document for name in names for document in yaml.safe_load_all(FOLDER.joinpath(name).read_text())]


def check_pod(name, spec):
    assert spec["securityContext"]["runAsNonRoot"], name
    assert spec["automountServiceAccountToken"] is False, name
    for container in spec["containers"]:
        rights = container["securityContext"]
        assert rights["readOnlyRootFilesystem"] and not rights["allowPrivilegeEscalation"], name
        assert rights["capabilities"] == {"drop": ["ALL"]}, name
        assert "memory" in container["resources"]["limits"], name
        volumes = {volume["name"] for volume in spec["volumes"]}
        assert {mount["name"] for mount in container["volumeMounts"]} == volumes, name


def main():
    documents = manifests()
    for document in documents:
        for version in VERSIONS:
            kubernetes_validate.validate(document, version, strict=True)
    by_kind = {}
    for document in documents:
        by_kind.setdefault(document["kind"], []).append(document)
    deployments = by_kind["Deployment"]
    roles = set()
    for document in deployments + by_kind["Job"]:
        check_pod(document["metadata"]["name"], document["spec"]["template"]["spec"])
    for deployment in deployments:
        labels = deployment["spec"]["template"]["metadata"]["labels"]
        assert deployment["spec"]["selector"]["matchLabels"] == labels
        guarded = [budget for budget in by_kind["PodDisruptionBudget"] if budget["spec"]["selector"]["matchLabels"] == labels]
        assert len(guarded) == 1, f"{deployment['metadata']['name']} has no budget"
        assert guarded[0]["spec"]["minAvailable"] < deployment["spec"]["replicas"]
        container = deployment["spec"]["template"]["spec"]["containers"][0]
        roles.add(container["args"][-1])
        for probe, path in [("startupProbe", "/healthz"), ("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")]:
            assert container[probe]["httpGet"] == {"path": path, "port": "http"}, probe
    assert roles == {"api", "worker"}, roles
    service = by_kind["Service"][0]["spec"]["selector"]
    served = [one for one in deployments if service.items() <= one["spec"]["template"]["metadata"]["labels"].items()]
    assert [one["metadata"]["name"] for one in served] == ["gatehouse-api"]
    print(f"{len(documents)} manifests are valid for Kubernetes {' and '.join(VERSIONS)}")


main()
