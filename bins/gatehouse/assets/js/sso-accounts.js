// What sign-ins through an SSO connection do with accounts.

import { $ } from "./page.js";
import { ask, keepAlive } from "./session.js";
import { id, load } from "./sso-head.js";
import { settingsForm } from "./unsaved.js";

const form = $('[data-form="accounts"]');

/** Shows the fields of new users if users are created. */
function show() {
  $("[data-creation]", form).hidden = !form.elements.creates.checked;
}

function body() {
  const { groupsClaim, creates, role, domains } = form.elements;
  const emailDomains = domains.value.split(/\s+/).filter(Boolean);
  return {
    groupsClaim: groupsClaim.value.trim() || null,
    createUsers: creates.checked ? { role: role.value, emailDomains } : null,
  };
}

settingsForm(form, show, () => ask("PUT", `/api/settings/sso-connections/${id}/accounts`, body()));
load();
keepAlive();
