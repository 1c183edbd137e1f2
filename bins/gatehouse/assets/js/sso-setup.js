// Setup steps at the identity provider of a SAML connection, with the values of this connection.

import { keepAlive } from "./session.js";
import { offerCertificate, resumeGuide } from "./sso-guide.js";
import { load, onProvider } from "./sso-head.js";
import { samlTexts } from "./sso-reasons.js";
import { connectionTest } from "./sso-test.js";

resumeGuide();

onProvider(({ serviceProvider: { certificates } }) => {
  const { pem } = certificates.find(({ use }) => use === "NEXT") ?? certificates[0];
  offerCertificate(pem);
});

await load();
await connectionTest(samlTexts);
keepAlive();
