// The overview of an SSO connection: sign-in URLs, connection tests, certificates.

import { $, element } from "./page.js";
import { keepAlive } from "./session.js";
import "./sso-certificates.js";
import { load, onProvider } from "./sso-head.js";
import { showTest } from "./sso-test.js";
import { domainBadges } from "./sso-words.js";

onProvider((now) => {
  const isWhole = now.emailDomains.every((domain) => now.verifiedDomains.includes(domain));
  const link = Object.assign(element("a", isWhole ? "Domains" : "Verify domains"), { href: "/settings/sso#domains" });
  $("[data-domains]").replaceChildren(...domainBadges(now), " ", link);
});

await load();
await showTest();
keepAlive();
