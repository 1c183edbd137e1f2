// Domains and their verification by DNS record.

import { Refusal } from "./api.js";
import { sure } from "./drawn.js";
import { acting, badge, classed, copyable } from "./elements.js";
import { $, clear, element, localise, onAct, refuse, say } from "./page.js";
import { ask, mine } from "./session.js";
import { domainsPath, since } from "./sso-words.js";

const part = $('[data-part="domains"]');
const list = $("[data-domains]", part);
let names = new Map();
let others = async () => {};

const reasons = {
  DNS_RECORD_MISSING: "the TXT record was not found. DNS changes can take minutes, sometimes hours. Verify again later",
  DNS_UNAVAILABLE: "the name servers did not respond. Try again in a moment",
  DOMAIN_TAKEN: "another organization on this server has verified this domain. If you own it, contact the operator of the server",
};

function proved({ method, verifiedAt }) {
  const how = method === "OPERATOR" ? "Verified by the operator of this server" : "Verified by its TXT record";
  return classed("p", "soft", how, ...(verifiedAt ? [", ", since(verifiedAt)] : []), ". No other organization on this server can verify it.");
}

function unproved({ domain, record }) {
  const id = `record-${domain.replaceAll(".", "_")}`;
  const values = [copyable(`${id}-name`, "Name", record.name), element("div", element("dt", "Type"), element("dd", element("code", record.type))), copyable(`${id}-value`, "Value", record.value)];
  return [classed("p", "soft", "Add this record to the domain's DNS, then verify. You can remove it afterwards."), classed("dl", "given", ...values)];
}

/** Names the connections that use a domain. */
function used(providers) {
  const known = providers.map((id) => names.get(id)).filter(Boolean);
  return known.length > 0 ? classed("span", "soft", `used by ${known.join(", ")}`) : classed("span", "soft", "not used by a connection");
}

function row(one) {
  const { domain, status, providers } = one;
  const isVerified = status === "VERIFIED";
  const about = element("div", element("b", domain), " ", badge(isVerified ? "verified" : "not verified", isVerified ? "good" : "soon"), " ", used(providers));
  about.append(...(isVerified ? [proved(one)] : unproved(one)));
  const refused = Object.assign(classed("p", "note bad"), { hidden: true });
  refused.dataset.refused = "";
  refused.setAttribute("role", "alert");
  about.append(refused);
  const act = isVerified
    ? acting("remove-domain", "Remove", `Remove verification of ${domain}`)
    : acting("verify-domain", "Verify", `Verify ${domain}`);
  act.className = isVerified ? "quiet bad" : "";
  const made = element("li", about, classed("div", "acts", act));
  Object.assign(made.dataset, { id: domain, part: "domain" });
  return made;
}

async function draw() {
  const { domains } = await mine("GET", domainsPath);
  $("[data-domains-card]").hidden = domains.length === 0;
  list.replaceChildren(...domains.map(row));
  localise(list);
}

/** Shows the domains. `changed` updates the rest of the page after a change. */
export async function showDomains(providers, changed) {
  names = new Map(providers.map(({ id, name }) => [id, name]));
  others = changed;
  clear(part);
  try {
    await draw();
  } catch (error) {
    $("[data-domains-card]").hidden = false;
    refuse(part, error, true);
  }
}

const at = (domain) => `${domainsPath}/${encodeURIComponent(domain)}`;

onAct("verify-domain", async (button) => {
  const { id: domain } = button.closest("[data-id]").dataset;
  try {
    await ask("POST", `${at(domain)}/verify`);
  } catch (error) {
    const why = error.status === 409 && reasons[error.reason];
    if (!why) throw error;
    throw new Refusal(-1, { error: why });
  }
  await Promise.all([draw(), others()]);
  say(`${domain} is verified.`);
  $("#domains-title").focus();
});

onAct("remove-domain", async (button) => {
  const { id: domain } = button.closest("[data-id]").dataset;
  sure(
    `Remove verification of ${domain}?`,
    "The sign-in page stops sending users of this domain to their identity provider, and another organization on this server can verify the domain.",
    "Remove",
    () => ask("DELETE", at(domain)),
    async () => {
      await Promise.all([draw(), others()]);
      say("Domain verification removed.");
      $("#domains-title").focus();
    },
  );
});
