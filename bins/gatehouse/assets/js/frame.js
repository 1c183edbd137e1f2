// The frame of signed-in pages: search (Ctrl-K), and the organizations that this browser has signed in to.

import { $, element } from "./page.js";

const button = $("[data-search]");

async function search() {
  const { openSearch } = await import("./search.js");
  openSearch();
}

if (button) {
  if (navigator.platform.startsWith("Mac")) $("kbd", button).textContent = "⌘K";
  button.addEventListener("click", search);
  document.addEventListener("keydown", (event) => {
    if (event.key?.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey) return;
    // A dialog that waits for an answer stays in front.
    if ($("dialog[open]")) return;
    event.preventDefault();
    search();
  });
  button.dataset.search = "ready";
}

// A session belongs to one organization. The menu leads to the sign-in of the others, until the user signs out.
const KEY = "gatehouse.organizations";
const place = $("[data-organizations]");

function known() {
  try {
    const found = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(found) ? found.filter((one) => typeof one?.slug === "string" && typeof one.name === "string") : [];
  } catch {
    return [];
  }
}

if (place) {
  const { slug, name } = place.dataset;
  const others = known().filter((one) => one.slug !== slug).slice(0, 9);
  try {
    localStorage.setItem(KEY, JSON.stringify([{ slug, name }, ...others]));
  } catch {
    // The browser stores nothing. The menu lists no other organizations.
  }
  place.replaceChildren(...others.map((other) => {
    const link = element("a", other.name);
    link.className = "button quiet";
    link.href = `/auth/login?${new URLSearchParams({ tenant: other.slug, next: "/" })}`;
    return link;
  }));
}
