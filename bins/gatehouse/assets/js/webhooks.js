// The list of webhooks, each with its recent activity.

import { badge, classed } from "./elements.js";
import { $, clear, count, element, refuse, say } from "./page.js";
import { keepAlive, mine } from "./session.js";
import { small } from "./webhook-chart.js";
import { filterSummary, health, path, state, sum, went } from "./webhook-words.js";

const part = $('[data-part="list"]');

/** Maximum number of concurrent activity requests. */
const AT_ONCE = 4;

function row(hook) {
  const link = element("a", element("b", hook.name));
  link.href = `?${new URLSearchParams({ id: hook.id })}`;
  const { name, kind, why } = state(hook);
  const shown = badge(name, kind);
  const about = element("div", link, " ", shown, classed("p", "address", element("code", hook.url)), classed("p", "soft filters", ...filterSummary(hook.eventFilters)));
  if (hook.disabledReason) about.append(classed("p", "why", why));
  const lately = classed("div", "lately");
  const made = element("li", about, lately);
  made.dataset.id = hook.id;
  return { made, lately, hook, shown };
}

/** Loads the activity of the last 24 hours. Errors do not affect the rest of the list. */
async function fare({ lately, hook, shown }) {
  try {
    const { hours } = await mine("GET", `${path}/${hook.id}/activity`);
    const { name, kind } = health(hook, sum(hours));
    shown.replaceWith(badge(name, kind));
    lately.replaceChildren(small(hours), classed("span", "soft", `${went(sum(hours))} in 24 hours`));
  } catch {
    lately.replaceChildren(classed("span", "soft", "The activity could not be loaded"));
  }
}

async function show() {
  clear(part);
  const { subscriptions } = await mine("GET", path);
  const isNone = subscriptions.length === 0;
  const disabled = subscriptions.filter((hook) => hook.disabledReason).length;
  const words = count(subscriptions.length, "webhook");
  $("[data-count]", part).textContent = isNone ? "None yet." : disabled > 0 ? `${words}, ${disabled} disabled.` : `${words}.`;
  $("header", part).hidden = isNone;
  $("[data-none]", part).hidden = !isNone;
  $("[data-add]").hidden = isNone;
  const rows = subscriptions.map(row);
  $("[data-list]", part).replaceChildren(...rows.map(({ made }) => made));
  const left = [...rows];
  const work = async () => {
    for (let next = left.shift(); next; next = left.shift()) await fare(next);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}

// A message left by the previous page.
const said = sessionStorage.getItem("gatehouse.webhooks.said");
sessionStorage.removeItem("gatehouse.webhooks.said");
if (said) say(said);

show().catch((error) => {
  $("[data-count]", part).textContent = "The webhooks could not be loaded.";
  refuse(part, error, true);
});
keepAlive();
