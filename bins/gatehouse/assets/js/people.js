// The list of people, and invitations.

import { Refusal } from "./api.js";
import { badge, classed } from "./elements.js";
import { $, $$, copy, count, element, onAct, onSend, open, say } from "./page.js";
import { ask, keepAlive } from "./session.js";

/** Maximum number of addresses per dialog. */
const MOST = 100;

const path = "/api/settings/users";

onAct("invite", async () => {
  open("invite");
});

/** Returns the addresses in the text, each once. Names before an address in angle brackets are dropped. */
function addresses(text) {
  const lines = text.split("\n").map((line) => {
    const bracketed = [...line.matchAll(/<([^<>]+)>/g)].map(([, address]) => address);
    return bracketed.length > 0 ? bracketed : line.split(/[,;]/);
  });
  return [...new Set(lines.flat().map((part) => part.trim()).filter(Boolean))];
}

/** Renders the outcome of an invitation. */
function outcome({ email, userId, link, error }) {
  const about = element("div", element("b", email), " ", error ? badge(userId ? "mail not sent" : "not invited", "bad") : badge("invited", "good"));
  if (error) about.append(classed("p", "wrong", error));
  const row = element("li", about);
  if (link) {
    const shown = classed("p", "secret", element("code", link));
    shown.firstChild.dataset.link = "";
    about.append(shown);
  }
  return row;
}

onSend("invite", async (given, form) => {
  const emails = addresses(given.get("emails"));
  if (emails.length === 0) throw new Refusal(400, { error: "emails: write at least one address" });
  if (emails.length > MOST) throw new Refusal(400, { error: `emails: at most ${MOST} addresses at a time` });
  const { invitations: results } = await ask("POST", `${path}/invitations`, { emails, role: given.get("role") });
  form.closest("dialog").close();
  const refused = results.filter(({ error }) => error).length;
  if (refused === 0 && results.every(({ link }) => !link)) {
    say(`${count(results.length, "invitation")} sent.`);
    setTimeout(() => location.reload(), 1500);
    return;
  }
  const dialog = open("invited");
  $("[data-invited]", dialog).replaceChildren(...results.map(outcome));
  $('[data-act="copy-links"]', dialog).hidden = !results.some(({ link }) => link);
});

onAct("copy-links", async () => {
  await copy($$("[data-link]").map((link) => `${$("b", link.closest("li")).textContent} ${link.textContent}`).join("\n"));
});

onSend("invited", async () => {
  location.reload();
});

// Empty fields do not belong in the URL.
$(".filter").addEventListener("formdata", ({ formData }) => {
  for (const [name, value] of [...formData]) if (value === "") formData.delete(name);
});

keepAlive();
