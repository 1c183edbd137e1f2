// A new identity provider; its page has the rest of the steps.

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
  sessionStorage.setItem("gatehouse.sso.said", "Connection added. Continue with these steps.");
  sessionStorage.setItem("gatehouse.sso.idp", $("[name=idp]:checked").value);
  // Back does not offer to add it once more.
  location.replace(`?${new URLSearchParams({ provider: made.id, view: "setup" })}`);
  await new Promise(() => {});
});

keepAlive();
