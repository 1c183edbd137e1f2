// The list of log streams.

import { badge, classed } from "./elements.js";
import { path, problemText, state, types } from "./log-stream-fields.js";
import { $, clear, count, element, localise, refuse, say } from "./page.js";
import { keepAlive, mine } from "./session.js";
import { filterSummary } from "./webhook-words.js";

const part = $('[data-part="list"]');

function row(stream) {
  const link = element("a", element("b", stream.name));
  link.href = `?${new URLSearchParams({ id: stream.id })}`;
  const { name, kind } = state(stream);
  const address = classed("p", "address", `${types[stream.type]?.name ?? stream.type} `, element("code", stream.url));
  const about = element("div", link, " ", badge(name, kind), address, classed("p", "soft filters", ...filterSummary(stream.eventFilters)));
  if (stream.problem) about.append(classed("p", "why", problemText(stream.problem)));
  const lately = classed("div", "lately", element("span", stream.waiting === 0 ? "All entries sent" : `${count(stream.waiting, "entry", "entries")} to send`));
  if (stream.deliveredAt) lately.append(classed("span", "soft", "last accepted ", Object.assign(element("time"), { dateTime: stream.deliveredAt })));
  const made = element("li", about, lately);
  made.dataset.id = stream.id;
  return made;
}

async function show() {
  clear(part);
  const { logStreams } = await mine("GET", path);
  const isNone = logStreams.length === 0;
  const failing = logStreams.filter((stream) => stream.failingSince).length;
  const words = count(logStreams.length, "log stream");
  $("[data-count]", part).textContent = isNone ? "None yet." : failing > 0 ? `${words}, ${failing} failing.` : `${words}.`;
  $("header", part).hidden = isNone;
  $("[data-none]", part).hidden = !isNone;
  $("[data-add]").hidden = isNone;
  $("[data-list]", part).replaceChildren(...logStreams.map(row));
  localise(part);
}

// A message left by the previous page.
const said = sessionStorage.getItem("gatehouse.log-streams.said");
sessionStorage.removeItem("gatehouse.log-streams.said");
if (said) say(said);

show().catch((error) => {
  $("[data-count]", part).textContent = "The log streams could not be loaded.";
  refuse(part, error, true);
});
keepAlive();
