// Adds an OpenID Connect connection. Its setup page shows the redirect URI and the remaining steps.

import { body, explained } from "./oidc-form.js";
import { $, onSend } from "./page.js";
import { ask, keepAlive } from "./session.js";
import { fields } from "./sso-fields.js";
import { continueGuide, guide } from "./sso-guide.js";
import { oidcPath } from "./sso-words.js";

/** Examples of issuers, by identity provider. */
const issuers = {
  OKTA: "https://example.okta.com",
  ENTRA: "https://login.microsoftonline.com/11111111-2222-…/v2.0",
  GOOGLE: "https://accounts.google.com",
  KEYCLOAK: "https://id.example.com/realms/example",
  OTHER: "https://id.example.com",
};

function showExample() {
  fields.issuer.placeholder = issuers[$("[name=idp]:checked").value];
}

guide();
$("[data-guide]").addEventListener("change", showExample);
showExample();

onSend("provider", async () => {
  const wanted = body();
  let made;
  try {
    made = await ask("POST", oidcPath, wanted);
  } catch (error) {
    throw explained(error, wanted);
  }
  await continueGuide(made);
});

keepAlive();
