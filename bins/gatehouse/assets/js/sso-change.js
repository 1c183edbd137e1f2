// Changes or removes an SSO connection of either protocol.

import { sure } from "./drawn.js";
import { $, localise, onAct, onSend, say } from "./page.js";
import { ask, keepAlive } from "./session.js";
import { form, written } from "./sso-fields.js";
import { load, onProvider, own, provider, show } from "./sso-head.js";
import { since } from "./sso-words.js";
import { watchChanges } from "./unsaved.js";

let before;

const isChanged = () => before !== undefined && written() !== before;
const look = watchChanges(form, isChanged);

/**
 * Activates the settings page. `body()` reads the fields, `fill(provider)` sets them, and `explained(error, body)` adds to
 * an error what the form knows.
 */
export function settings({ body, explained, fill }) {
  const fillAnew = () => {
    fill(provider);
    before = written();
    look();
  };

  onProvider(({ createdAt, updatedAt }) => {
    const place = $("[data-since]", form);
    place.replaceChildren("Added ", since(createdAt), ...(updatedAt === createdAt ? [] : [", changed ", since(updatedAt)]), ".");
    localise(place);
    fillAnew();
  });

  form.addEventListener("input", look);
  form.addEventListener("change", look);

  onSend("provider", async () => {
    if (!isChanged()) return;
    const wanted = body();
    try {
      show(await ask("PUT", own, wanted));
    } catch (error) {
      throw explained(error, wanted);
    }
    say("SSO connection saved.");
  });

  onAct("undo", async () => {
    if (isChanged()) fillAnew();
  });

  load();
  keepAlive();
}

onAct("remove", async () => {
  sure(
    `Remove ${$("[data-name]").textContent}?`,
    "Nobody can sign in through it, but existing sessions continue. You cannot undo this: a new connection has different keys and URLs, which you must enter at the identity provider.",
    "Remove",
    () => ask("DELETE", own),
    () => {
      before = undefined;
      sessionStorage.setItem("gatehouse.sso.said", "SSO connection removed.");
      location.assign("/settings/sso");
    },
  );
});
