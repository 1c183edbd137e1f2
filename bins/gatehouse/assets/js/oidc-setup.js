// Setup steps at the identity provider of an OpenID Connect connection, with the values of this connection.

import { $$ } from "./page.js";
import { keepAlive } from "./session.js";
import { oidcTexts } from "./oidc-reasons.js";
import { offerCertificate, resumeGuide } from "./sso-guide.js";
import { load, onProvider } from "./sso-head.js";
import { connectionTest } from "./sso-test.js";

resumeGuide();

onProvider(({ tokenEndpointAuthMethod, relyingParty: { certificates } }) => {
  const usesKey = tokenEndpointAuthMethod === "private_key_jwt";
  for (const step of $$("[data-private-key]")) step.hidden = !usesKey;
  const certificate = certificates.find(({ use }) => use === "NEXT") ?? certificates[0];
  if (certificate) offerCertificate(certificate.pem);
});

await load();
await connectionTest(oidcTexts);
keepAlive();
