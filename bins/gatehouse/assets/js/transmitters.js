// The list of transmitters of shared signals.

import { badge, classed } from "./elements.js";
import { $, clear, count, element, localise, refuse, say } from "./page.js";
import { keepAlive, mine } from "./session.js";
import { path, state } from "./transmitter-words.js";

const part = $('[data-part="list"]');

function row(transmitter) {
  const link = element("a", element("b", transmitter.name));
  link.href = `?${new URLSearchParams({ id: transmitter.id })}`;
  const { name, kind } = state(transmitter);
  const about = element("div", link, " ", badge(name, kind), classed("p", "address", element("code", transmitter.issuer)));
  const { receivedAt } = transmitter;
  const lately = classed("div", "lately");
  if (receivedAt) lately.append(classed("span", "soft", "last event ", Object.assign(element("time"), { dateTime: receivedAt })));
  return element("li", about, lately);
}

async function show() {
  clear(part);
  const { transmitters } = await mine("GET", path);
  const isNone = transmitters.length === 0;
  $("[data-count]", part).textContent = isNone ? "None yet." : `${count(transmitters.length, "transmitter")}.`;
  $("header", part).hidden = isNone;
  $("[data-none]", part).hidden = !isNone;
  $("[data-add]").hidden = isNone;
  $("[data-list]", part).replaceChildren(...transmitters.map(row));
  localise(part);
}

// A message left by the previous page.
const said = sessionStorage.getItem("gatehouse.transmitters.said");
sessionStorage.removeItem("gatehouse.transmitters.said");
if (said) say(said);

show().catch((error) => {
  $("[data-count]", part).textContent = "The transmitters could not be loaded.";
  refuse(part, error, true);
});
keepAlive();
