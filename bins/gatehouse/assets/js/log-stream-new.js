// The form for a new log stream.

import { path, showType, values } from "./log-stream-fields.js";
import { $, onSend } from "./page.js";
import { keepAlive, mine } from "./session.js";
import { chosenFilters, setFilters } from "./webhook-events.js";

const form = $('[data-form="stream"]');
const type = form.elements.type;

type.addEventListener("change", () => showType(form, type.value));
showType(form, type.value);
setFilters(["*"]);
$("#stream-name").focus();

onSend("stream", async (given) => {
  const filled = Object.entries(values(form)).filter(([, text]) => text !== "");
  const secret = given.get("secret").trim();
  const made = await mine("POST", path, {
    name: given.get("name").trim(),
    type: type.value,
    ...Object.fromEntries(filled),
    ...(secret ? { secret } : {}),
    eventFilters: chosenFilters(),
    ...(given.get("start") === "BEGINNING" ? { from: 0 } : {}),
  });
  location.assign(`?${new URLSearchParams({ id: made.id })}`);
});

keepAlive();
