// The form for a new webhook. Its secret is shown once.

import { $, onSend } from "./page.js";
import { keepAlive, mine } from "./session.js";
import { chosenFilters, setFilters } from "./webhook-events.js";
import { showSecret } from "./webhook-secret.js";
import { path } from "./webhook-words.js";

setFilters(["*"]);
$("#hook-name").focus();

onSend("webhook", async (given) => {
  const wanted = {
    name: given.get("name").trim(),
    url: given.get("url").trim(),
    eventFilters: chosenFilters(),
    // Servers of earlier versions do not know the member.
    ...(given.has("ordered") ? { ordered: true } : {}),
  };
  const made = await mine("POST", path, wanted);
  // A reload opens the new webhook instead of the form.
  history.replaceState(null, "", `?${new URLSearchParams({ id: made.id })}`);
  showSecret(made, `Signing secret of ${made.name}`, () => location.reload());
});

keepAlive();
