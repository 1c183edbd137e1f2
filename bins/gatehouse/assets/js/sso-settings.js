// Changes or removes an SSO connection.

import { sure } from "./drawn.js";
import { $, count, localise, onAct, onSend, say } from "./page.js";
import { ask, keepAlive } from "./session.js";
import { body, explained, fill, written } from "./sso-form.js";
import { load, onProvider, own, provider, show } from "./sso-head.js";
import { since } from "./sso-words.js";
import { watchChanges } from "./unsaved.js";

const form = $('[data-form="provider"]');
const kept = {
  METADATA_URL: ({ metadataUrl }) => `the metadata URL ${metadataUrl}`,
  METADATA_XML: () => "uploaded metadata",
  FIELDS: () => "manual entry",
};
let before;

const isChanged = () => before !== undefined && written() !== before;
const look = watchChanges(form, isChanged);

function fillAnew() {
  fill(provider);
  before = written();
  look();
}

onProvider((now) => {
  const { source, certificates, createdAt, updatedAt } = now;
  $("[data-kept]", form).textContent = `From ${kept[source](now)}, with ${count(certificates.length, "certificate")}.`;
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

load();
keepAlive();
