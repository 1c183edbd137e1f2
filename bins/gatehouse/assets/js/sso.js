// All identity providers of the organisation, and its domains.

import { badge, classed } from "./elements.js";
import { $, clear, count, element, localise, refuse, say } from "./page.js";
import { keepAlive, mine } from "./session.js";
import { showDomains } from "./sso-domains.js";
import { domainBadges, ends, path, sentence, stateOf, trouble } from "./sso-words.js";

const part = $('[data-part="list"]');

/** Whether the row does not say it already, by the badges of domains and certificates. */
const isNews = (warning) => !/^(emailDomains|certificates\[[0-9]+\]): /.test(warning);

function row(provider) {
  const link = element("a", element("b", provider.name));
  link.href = `?${new URLSearchParams({ provider: provider.id })}`;
  const about = element("div", link, " ", ...[trouble(provider)].filter(Boolean), classed("p", "soft address", element("code", provider.entityId)));
  about.append(classed("p", "domains", ...domainBadges(provider)));
  for (const text of provider.warnings.filter(isNews)) about.append(classed("p", "soft warning", sentence(text)));
  const certificates = provider.certificates.map((one) => element("li", stateOf(one), " ", classed("span", "soft", ...ends(one))));
  const list = classed("ul", "ending", ...certificates);
  list.setAttribute("aria-label", "Signing certificates");
  const to = classed("a", "to", "Setup guide");
  to.href = `?${new URLSearchParams({ provider: provider.id, view: "setup" })}`;
  to.setAttribute("aria-label", `Setup guide of ${provider.name}`);
  const made = element("li", about, classed("div", "aside", list, to));
  made.dataset.id = provider.id;
  return made;
}

/** What the sign-in policy makes of it. */
function mode(signInMode) {
  if (signInMode === "CREDENTIALS_ONLY") {
    return [classed("p", "note", "Your sign-in policy allows only e-mail and password, so nobody can use these connections.")];
  }
  if (signInMode === "SSO_REQUIRED") {
    return [classed("p", "note", "Your sign-in policy requires single sign-on. Only break-glass administrators can use a password.")];
  }
  return [];
}

async function show() {
  clear(part);
  const { providers, signInMode } = await mine("GET", path);
  const isNone = providers.length === 0;
  $("[data-count]", part).textContent = isNone ? "None yet." : `${count(providers.length, "connection")}.`;
  $("header", part).hidden = isNone;
  $("[data-none]", part).hidden = !isNone;
  $("[data-add]").hidden = isNone;
  $("[data-mode]", part).replaceChildren(...(isNone ? [] : mode(signInMode)));
  $("[data-list]", part).replaceChildren(...providers.map(row));
  localise(part);
  return providers;
}

// What was done on the page before, which is gone.
const said = sessionStorage.getItem("gatehouse.sso.said");
sessionStorage.removeItem("gatehouse.sso.said");
if (said) say(said);

async function start() {
  try {
    await showDomains(await show(), show);
    // Where the address names a part, it is there only now.
    if (location.hash === "#domains") $("#domains").scrollIntoView();
  } catch (error) {
    $("[data-count]", part).textContent = "The list could not be loaded.";
    refuse(part, error, true);
  }
}

start();
keepAlive();
