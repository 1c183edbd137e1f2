// The setup of a new server. The token is in the fragment, so that it reaches the server only with the form.

import { call } from "./api.js";
import { $, onSend } from "./page.js";

const token = new URLSearchParams(location.hash.slice(1)).get("token");

/** Suggests a short name: lower-case ASCII letters and digits, with hyphens between words. */
const short = (name) =>
  name.normalize("NFKD").toLowerCase().replace(/\p{M}/gu, "").replace(/[^a-z0-9]+/g, "-").slice(0, 63).replace(/^-+|-+$/g, "");

const slug = $("#slug");
if (token && slug) {
  $('[data-step="lost"]').hidden = true;
  $('[data-step="setup"]').hidden = false;
  const name = $("#name");
  name.focus();
  // Follows the name until the user edits it.
  let suggested = "";
  name.addEventListener("input", () => {
    if (slug.value === suggested) slug.value = suggested = short(name.value);
  });
}

onSend("setup", async (fields) => {
  await call("POST", "/api/auth/setup", { token, ...Object.fromEntries(fields) });
  location.replace(`/auth/enrol?${new URLSearchParams({ offer: "", next: "/settings" })}`);
  return new Promise(() => {});
});

// A setup link that is opened in a tab that shows this page already.
window.addEventListener("hashchange", () => location.reload());
