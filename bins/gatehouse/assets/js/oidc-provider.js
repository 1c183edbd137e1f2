// The overview of an OpenID Connect connection: sign-in URLs, connection tests, endpoints and keys.

import { oidcTexts } from "./oidc-reasons.js";
import { $ } from "./page.js";
import { keepAlive } from "./session.js";
import "./oidc-keys.js";
import { load, onProvider } from "./sso-head.js";
import { connectionTest } from "./sso-test.js";
import { domainsOf } from "./sso-words.js";

onProvider((now) => {
  $("[data-domains]").replaceChildren(...domainsOf(now));
});

await load();
await connectionTest(oidcTexts);
keepAlive();
