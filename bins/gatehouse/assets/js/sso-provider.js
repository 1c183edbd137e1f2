// One identity provider at a glance: how people get there, and its tests.

import { $, element } from "./page.js";
import { keepAlive } from "./session.js";
import "./sso-certificates.js";
import { load, onProvider } from "./sso-head.js";
import { showTrial } from "./sso-test.js";
import { domainBadges } from "./sso-words.js";

onProvider((now) => {
  const isWhole = now.emailDomains.every((domain) => now.verifiedDomains.includes(domain));
  const link = Object.assign(element("a", isWhole ? "Domains" : "Verify them"), { href: "/settings/sso#domains" });
  $("[data-domains]").replaceChildren(...domainBadges(now), " ", link);
});

await load();
await showTrial();
keepAlive();
