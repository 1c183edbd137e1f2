// The attestation policy: the authenticator models that it allows, and a preview of the passkeys that it would refuse.

import { $, $$, count, element, say } from "./page.js";
import { policyForm } from "./policy.js";
import { ask, keepAlive } from "./session.js";

const path = "/api/settings/attestation-policy";
const form = $('[data-form="policy"]');
const catalog = $('[data-part="catalog"]');

function body() {
  const { mode, allowSyncedPasskeys, allowPlatformAuthenticators, requireVerifiedAttestation } = form.elements;
  return {
    mode: mode.value,
    allowedGroups: $$("[name=allowedGroups]:checked", form).map((box) => box.value),
    allowedAaguids: $$("[data-make]:checked", catalog).map((box) => box.dataset.make).sort(),
    allowSyncedPasskeys: allowSyncedPasskeys.checked,
    allowPlatformAuthenticators: allowPlatformAuthenticators.checked,
    requireVerifiedAttestation: requireVerifiedAttestation.checked,
  };
}

const why = {
  ALLOWLIST_NO_MATCH: "its model is not allowed",
  SYNCED_PASSKEY_DENIED: "it syncs to other devices",
  PLATFORM_AUTHENTICATOR_DENIED: "it is built into a device",
};

/** Maximum number of passkeys in the preview. */
const LISTED = 10;

const makeOf = (aaguid) => $(`[data-id="${aaguid}"] b`, catalog)?.textContent ?? aaguid;

function reasonOf({ reason, trust }) {
  const asksForProof = form.elements.requireVerifiedAttestation.checked && trust !== "trusted";
  return reason === "ALLOWLIST_NO_MATCH" && asksForProof ? "its model is not allowed or not verified" : why[reason];
}

/** Renders the preview: the enrolled passkeys that the policy would refuse. */
async function describe({ enrolled, refused, passkeys }) {
  const drawn = [];
  const { mode, allowedGroups, allowedAaguids } = body();
  if (mode === "ALLOWLIST" && allowedGroups.length + allowedAaguids.length === 0) {
    drawn.push(element("p", element("b", "No model is allowed."), " Users could not enrol passkeys."));
  }
  if (refused === 0) {
    const all = enrolled === 1 ? "The only enrolled passkey" : `Each of the ${enrolled} enrolled passkeys`;
    drawn.push(element("p", enrolled === 0 ? "No passkeys are enrolled, so this affects none." : `${all} would be accepted.`));
    return drawn;
  }
  drawn.push(element("p", element("b", `${refused} of ${count(enrolled, "passkey")} would be refused`), " if enrolled today. They keep working until they are removed:"));
  const lines = passkeys.slice(0, LISTED).map((passkey) =>
    element("li", element("b", passkey.userName), `, ${passkey.name} (${makeOf(passkey.aaguid)}): ${reasonOf(passkey)}`));
  if (refused > lines.length) lines.push(element("li", `and ${refused - lines.length} more`));
  drawn.push(element("ul", ...lines));
  return drawn;
}

const policy = policyForm({
  path,
  body,
  impact: async (wanted) => wanted,
  describe,
  save: async (wanted) => {
    const { refused } = await ask("PUT", path, wanted);
    say(refused === 0 ? "Policy saved." : `Policy saved. It would refuse ${count(refused, "passkey")} today.`);
    return true;
  },
});

// The catalog. Its checkboxes are saved with the policy.

function seek() {
  const words = $("[data-seek]", catalog).value.toLowerCase().split(/\s+/).filter(Boolean);
  const group = $("[data-of-group]", catalog).value;
  let shown = 0;
  for (const row of $$("[data-makes] > li", catalog)) {
    const { text, group: own, enrolled } = row.dataset;
    const inGroup = group === "" || (group === "ENROLLED" ? enrolled !== "0" : own === group);
    row.hidden = !(inGroup && words.every((word) => text.includes(word)));
    shown += row.hidden ? 0 : 1;
  }
  $("[data-none]", catalog).hidden = shown > 0;
}

document.addEventListener("input", (event) => {
  if (event.target.matches("[data-seek], [data-of-group]")) seek();
});

catalog.addEventListener("change", (event) => {
  if (event.target.matches("[data-make]")) policy.changed();
});

document.addEventListener("submit", (event) => {
  const other = event.target.closest('[data-form="name-make"]');
  if (!other) return;
  event.preventDefault();
  const aaguid = other.elements.aaguid.value.toLowerCase();
  let box = $(`[data-make="${aaguid}"]`, catalog);
  if (!box) {
    const row = $("[data-makes] > li", catalog).cloneNode(true);
    Object.assign(row.dataset, { id: aaguid, group: "", enrolled: "0", text: aaguid });
    $("b", row).textContent = "Unknown model";
    for (const badge of $$(".badge", row)) badge.remove();
    $(".soft", row).replaceChildren(element("code", aaguid));
    box = $("[data-make]", row);
    box.dataset.make = aaguid;
    box.setAttribute("aria-label", `Allow Unknown model, ${aaguid}`);
    $("[data-makes]", catalog).prepend(row);
  }
  box.checked = true;
  other.reset();
  $("[data-seek]", catalog).value = aaguid;
  $("[data-of-group]", catalog).value = "";
  seek();
  box.focus();
  policy.changed();
});

keepAlive();
