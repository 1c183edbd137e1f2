// Adds an SSO connection. Its setup page shows the remaining steps.

import { $, onSend } from "./page.js";
import { ask, keepAlive } from "./session.js";
import { body, explained } from "./sso-form.js";
import { guide } from "./sso-guide.js";
import { path } from "./sso-words.js";

guide();

onSend("provider", async () => {
  const wanted = body();
  let made;
  try {
    made = await ask("POST", path, wanted);
  } catch (error) {
    throw explained(error, wanted);
  }
  sessionStorage.setItem("gatehouse.sso.said", "SSO connection added. Continue with step 5.");
  sessionStorage.setItem("gatehouse.sso.idp", $("[name=idp]:checked").value);
  // The back button must not offer to add it again.
  location.replace(`?${new URLSearchParams({ provider: made.id, view: "setup" })}`);
  await new Promise(() => {});
});

keepAlive();
