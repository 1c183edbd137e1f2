// The form for a new receiver of shared signals.

import { Refusal } from "./api.js";
import { $, onSend } from "./page.js";
import { keepAlive, mine } from "./session.js";
import { showToken } from "./signal-token.js";
import { chosenTypes, path } from "./signal-words.js";

$("#receiver-name").focus();

onSend("receiver", async (given, form) => {
  const eventTypes = chosenTypes(form);
  // The server would treat none as all.
  if (eventTypes.length === 0) throw new Refusal(400, { error: "eventTypes: select at least one event" });
  const { id, token } = await mine("POST", path, {
    name: given.get("name").trim(),
    audience: given.get("audience").trim(),
    subjectFormat: given.get("subjectFormat"),
    eventTypes,
  });
  showToken(token, () => location.assign(`?${new URLSearchParams({ id })}`));
});

keepAlive();
