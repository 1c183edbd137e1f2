// The form for a new transmitter of shared signals.

import { $, onSend } from "./page.js";
import { ask, keepAlive } from "./session.js";
import { showToken } from "./signal-token.js";
import { consequences, path } from "./transmitter-words.js";

$("#transmitter-name")?.focus();

onSend("transmitter", async (given, form) => {
  const jwksUri = given.get("jwksUri").trim();
  const { id, authorization } = await ask("POST", path, {
    name: given.get("name").trim(),
    issuer: given.get("issuer").trim(),
    audience: given.get("audience").trim(),
    connectionId: given.get("connectionId"),
    ...(jwksUri ? { jwksUri } : {}),
    requiresAuthorization: given.has("requiresAuthorization"),
    consequences: consequences(form),
  });
  const go = () => location.assign(`?${new URLSearchParams({ id })}`);
  if (authorization) showToken(authorization, go);
  else go();
});

keepAlive();
