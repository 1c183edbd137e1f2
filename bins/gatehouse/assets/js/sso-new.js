// Adds a SAML connection. Its setup page shows the remaining steps.

import { onSend } from "./page.js";
import { ask, keepAlive } from "./session.js";
import { body, explained } from "./sso-form.js";
import { continueGuide, guide } from "./sso-guide.js";
import { samlPath } from "./sso-words.js";

guide();

onSend("provider", async () => {
  const wanted = body();
  let made;
  try {
    made = await ask("POST", samlPath, wanted);
  } catch (error) {
    throw explained(error, wanted);
  }
  await continueGuide(made);
});

keepAlive();
