// What sign-ins through an SSO connection do with accounts.

import { $, onAct, onSend, say } from "./page.js";
import { ask, keepAlive } from "./session.js";
import { id, load } from "./sso-head.js";
import { keepValues, watchChanges } from "./unsaved.js";

const form = $('[data-form="accounts"]');
const written = () => JSON.stringify([...new FormData(form)]);

let before = written();
const isChanged = () => written() !== before;
const look = watchChanges(form, isChanged);

/** Shows the fields of new users if users are created. */
function show() {
  $("[data-creation]", form).hidden = !form.elements.creates.checked;
  look();
}

form.addEventListener("input", show);
form.addEventListener("change", show);

function body() {
  const { groupsClaim, creates, role, domains } = form.elements;
  const emailDomains = domains.value.split(/\s+/).filter(Boolean);
  return {
    groupsClaim: groupsClaim.value.trim() || null,
    createUsers: creates.checked ? { role: role.value, emailDomains } : null,
  };
}

onSend("accounts", async () => {
  if (!isChanged()) return;
  await ask("PUT", `/api/settings/sso-connections/${id}/accounts`, body());
  keepValues(form);
  before = written();
  show();
  say("Saved.");
});

onAct("undo", async () => {
  form.reset();
  show();
});

show();
load();
keepAlive();
