// The organization's SSO connections and domains.

import { badge, classed } from "./elements.js";
import { $, clear, count, element, localise, refuse, say } from "./page.js";
import { keepAlive, mine } from "./session.js";
import { showDomains } from "./sso-domains.js";
import { domainBadges, ends, isOidc, keysOf, oidcPath, samlPath, sentence, stateOf, trouble } from "./sso-words.js";

const part = $('[data-part="list"]');

/** Returns whether a warning adds something to the badges of domains and certificates. */
const isNews = (warning) => !/^(emailDomains|certificates\[[0-9]+\]): /.test(warning);

/** Describes the certificates or keys of the identity provider. */
function keyRows(provider) {
  if (isOidc(provider.id)) return [classed("li", "soft", ...keysOf(provider))];
  return provider.certificates.map((one) => element("li", stateOf(one), " ", classed("span", "soft", ...ends(one))));
}

function row(provider) {
  const [protocol, address, keys] = isOidc(provider.id)
    ? ["OpenID Connect", provider.issuer, "Keys of the identity provider"]
    : ["SAML", provider.entityId, "Signing certificates"];
  const link = element("a", element("b", provider.name));
  link.href = `?${new URLSearchParams({ provider: provider.id })}`;
  const about = element("div", link, " ", ...[trouble(provider)].filter(Boolean), classed("p", "soft address", badge(protocol), " ", element("code", address)));
  about.append(classed("p", "domains", ...domainBadges(provider)));
  for (const text of provider.warnings.filter(isNews)) about.append(classed("p", "soft warning", sentence(text)));
  const list = classed("ul", "ending", ...keyRows(provider));
  list.setAttribute("aria-label", keys);
  const to = classed("a", "to", "Setup guide");
  to.href = `?${new URLSearchParams({ provider: provider.id, view: "setup" })}`;
  to.setAttribute("aria-label", `Setup guide for ${provider.name}`);
  const made = element("li", about, classed("div", "aside", list, to));
  made.dataset.id = provider.id;
  return made;
}

/** Explains what the sign-in policy means for the connections. */
function mode(signInMode) {
  if (signInMode === "CREDENTIALS_ONLY") {
    return [classed("p", "note", "The sign-in policy of your organization allows only email and password. Nobody can sign in through these connections until you change it.")];
  }
  if (signInMode === "SSO_REQUIRED") {
    return [classed("p", "note", "The sign-in policy of your organization requires single sign-on. Only break-glass accounts can sign in with a password.")];
  }
  return [];
}

/** Loads the connections of both protocols, oldest first. */
async function load() {
  const [{ providers, signInMode }, oidc] = await Promise.all([samlPath, oidcPath].map((path) => mine("GET", path)));
  const age = ({ createdAt }) => Date.parse(createdAt);
  return { providers: [...providers, ...oidc.providers].sort((one, other) => age(one) - age(other)), signInMode };
}

async function show() {
  clear(part);
  const { providers, signInMode } = await load();
  const isNone = providers.length === 0;
  $("[data-count]", part).textContent = isNone ? "None yet." : `${count(providers.length, "SSO connection")}.`;
  $("header", part).hidden = isNone;
  $("[data-none]", part).hidden = !isNone;
  $("[data-add]").hidden = isNone;
  $("[data-mode]", part).replaceChildren(...(isNone ? [] : mode(signInMode)));
  $("[data-list]", part).replaceChildren(...providers.map(row));
  localise(part);
  return providers;
}

// A message from the previous page.
const said = sessionStorage.getItem("gatehouse.sso.said");
sessionStorage.removeItem("gatehouse.sso.said");
if (said) say(said);

async function start() {
  try {
    await showDomains(await show(), show);
    // The target of the fragment exists only now.
    if (location.hash === "#domains") $("#domains").scrollIntoView();
  } catch (error) {
    $("[data-count]", part).textContent = "The SSO connections could not be loaded.";
    refuse(part, error, true);
  }
}

start();
keepAlive();
