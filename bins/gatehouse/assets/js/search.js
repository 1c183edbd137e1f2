// Search over the pages of the settings and the people of the organization, by keyboard or pointer.

import { $, $$, element } from "./page.js";
import { mine } from "./session.js";

const dialog = $("#search");
const input = $("input", dialog);
const list = $("#search-results");
const status = $("[data-search-status]");
const WAIT = 150;

const sections = $$("#sections a").map((link) => ({ name: link.textContent, path: link.getAttribute("href") }));
const isOpen = (path) => sections.some((section) => section.path === path);

const places = [
  ...sections,
  ...[
    { name: "SCIM provisioning", path: "/settings/scim", of: "/settings/sso" },
    { name: "Add an identity provider", path: "/settings/sso?new", of: "/settings/sso" },
    { name: "Add a webhook", path: "/settings/webhooks?new", of: "/settings/webhooks" },
  ].filter(({ of }) => isOpen(of)),
  { name: "Your account: password, factors, sessions, tokens", path: "/account/security" },
];

let timer;
let asked = 0;
let chosen = -1;

function choose(index) {
  const options = $$("[role=option]", list);
  chosen = options.length ? (index + options.length) % options.length : -1;
  for (const [place, option] of options.entries()) option.setAttribute("aria-selected", String(place === chosen));
  const option = options[chosen];
  if (option) {
    input.setAttribute("aria-activedescendant", option.id);
    option.scrollIntoView({ block: "nearest" });
  } else {
    input.removeAttribute("aria-activedescendant");
  }
}

function show(found, said) {
  list.replaceChildren(...found.map(({ name, path, detail }, index) => {
    const option = element("li", element("b", name));
    if (detail) option.append(" ", Object.assign(element("span", detail), { className: "soft" }));
    option.id = `search-${index}`;
    option.setAttribute("role", "option");
    option.dataset.path = path;
    return option;
  }));
  list.hidden = found.length === 0;
  status.textContent = said;
  status.hidden = said === "";
  choose(0);
}

/** Finds pages whose name contains all words. */
function pages(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return places.filter(({ name }) => words.every((word) => name.toLowerCase().includes(word)));
}

async function people(text, turn) {
  const found = pages(text);
  try {
    const { users } = await mine("GET", `/api/settings/users?${new URLSearchParams({ q: text, limit: 8 })}`);
    if (turn !== asked) return;
    const listed = users.map(({ id, userName, displayName }) =>
      ({ name: displayName ?? userName, detail: displayName ? userName : "", path: `/settings/people?id=${id}` }));
    show([...found, ...listed], found.length + listed.length ? "" : `Nothing found for “${text}”.`);
  } catch (error) {
    if (turn === asked) show(found, `People could not be searched: ${error.message}`);
  }
}

function look() {
  clearTimeout(timer);
  const text = input.value.trim();
  const turn = ++asked;
  show(pages(text), "");
  if (text && isOpen("/settings/people")) {
    status.hidden = false;
    status.textContent = "Searching people…";
    timer = setTimeout(() => people(text, turn), WAIT);
  }
}

function go(option) {
  dialog.close();
  location.assign(option.dataset.path);
}

input.addEventListener("input", look);
input.addEventListener("keydown", (event) => {
  const steps = { ArrowDown: 1, ArrowUp: -1 };
  if (event.key in steps) {
    event.preventDefault();
    choose(chosen + steps[event.key]);
  } else if (event.key === "Enter") {
    event.preventDefault();
    const option = $$("[role=option]", list)[chosen];
    if (option) go(option);
  }
});
list.addEventListener("click", (event) => {
  const option = event.target.closest("[role=option]");
  if (option) go(option);
});

export function openSearch() {
  input.value = "";
  dialog.showModal();
  look();
}
