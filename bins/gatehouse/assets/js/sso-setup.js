// Setup steps at the identity provider, with the values of this connection.

import { $, say } from "./page.js";
import { keepAlive } from "./session.js";
import { guide, offerCertificate } from "./sso-guide.js";
import { load, onProvider } from "./sso-head.js";
import { showTest } from "./sso-test.js";

// The identity provider that was chosen when the connection was added.
const chosen = sessionStorage.getItem("gatehouse.sso.idp");
const said = sessionStorage.getItem("gatehouse.sso.said");
sessionStorage.removeItem("gatehouse.sso.idp");
sessionStorage.removeItem("gatehouse.sso.said");
if (chosen) $(`[name=idp][value="${chosen}"]`).checked = true;
if (said) say(said);

guide();

onProvider(({ serviceProvider: { certificates } }) => {
  const { pem } = certificates.find(({ use }) => use === "NEXT") ?? certificates[0];
  offerCertificate(pem);
});

await load();
await showTest();
keepAlive();
