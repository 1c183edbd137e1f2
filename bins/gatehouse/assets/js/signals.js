// The list of receivers of shared signals.

import { sure } from "./drawn.js";
import { badge, classed } from "./elements.js";
import { $, clear, count, element, localise, onAct, refuse, say } from "./page.js";
import { keepAlive, mine } from "./session.js";
import { path, problemText, state } from "./signal-words.js";

const part = $('[data-part="list"]');

function row(receiver) {
  const link = element("a", element("b", receiver.name));
  link.href = `?${new URLSearchParams({ id: receiver.id })}`;
  const { name, kind } = state(receiver);
  const { stream } = receiver;
  const how = stream ? [stream.endpointUrl ? "Push to " : "Poll", ...(stream.endpointUrl ? [element("code", stream.endpointUrl)] : [])] : ["The receiver has not created its stream."];
  const about = element("div", link, " ", badge(name, kind), classed("p", "address", ...how));
  if (stream?.problem) about.append(classed("p", "why", problemText(stream.problem)));
  const lately = classed("div", "lately");
  if (stream) lately.append(element("span", stream.pending === 0 ? "No events wait" : `${count(stream.pending, "event")} waiting`));
  if (stream?.deliveredAt) lately.append(classed("span", "soft", "last accepted ", Object.assign(element("time"), { dateTime: stream.deliveredAt })));
  const made = element("li", about, lately);
  made.dataset.id = receiver.id;
  return made;
}

async function show() {
  clear(part);
  const { issuer, configurationUrl, receivers } = await mine("GET", path);
  const isNone = receivers.length === 0;
  const failing = receivers.filter(({ stream }) => stream?.failingSince).length;
  const words = count(receivers.length, "receiver");
  $("[data-count]", part).textContent = isNone ? "None yet." : failing > 0 ? `${words}, ${failing} failing.` : `${words}.`;
  $("header", part).hidden = isNone;
  $("[data-none]", part).hidden = !isNone;
  $("[data-add]").hidden = isNone;
  $("[data-list]", part).replaceChildren(...receivers.map(row));
  $("#issuer").textContent = issuer;
  $("#configuration").textContent = configurationUrl;
  localise(part);
}

onAct("rotate", async () => {
  sure(
    "Rotate the key?",
    "A new key signs from now on. Receivers read the key set again when they see it. The previous key stays in the key set for 30 days.",
    "Rotate key",
    () => mine("POST", "/api/settings/signals/rotate-key"),
    () => say("Key rotated."),
  );
});

// A message left by the previous page.
const said = sessionStorage.getItem("gatehouse.signals.said");
sessionStorage.removeItem("gatehouse.signals.said");
if (said) say(said);

show().catch((error) => {
  $("[data-count]", part).textContent = "The receivers could not be loaded.";
  refuse(part, error, true);
});
keepAlive();
