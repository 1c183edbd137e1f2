// The overview of a SAML connection: sign-in URLs, connection tests, certificates.

import { $ } from "./page.js";
import { keepAlive } from "./session.js";
import "./sso-certificates.js";
import { load, onProvider } from "./sso-head.js";
import { samlTexts } from "./sso-reasons.js";
import { connectionTest } from "./sso-test.js";
import { domainsOf } from "./sso-words.js";

onProvider((now) => {
  $("[data-domains]").replaceChildren(...domainsOf(now));
});

await load();
await connectionTest(samlTexts);
keepAlive();
