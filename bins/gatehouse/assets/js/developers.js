// The API reference: search, copying, and the calculator of webhook signatures.

import { $, $$, copy, count } from "./page.js";

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-copy]");
  if (button) copy($("code", button.parentElement).textContent);
});

// A command's text is selected as a whole by its tab, and the tab of one credential is kept for the next operations.
for (const radio of $$(".tabs input")) {
  radio.addEventListener("change", () => {
    const name = radio.parentElement.textContent.trim();
    for (const other of $$(".tabs label")) if (other.textContent.trim() === name) $("input", other).checked = true;
  });
}

const operations = $$("[data-operation]");
const search = $("[type=search]");

/** Shows the operations that contain all words of the text. */
function filter() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  let found = 0;
  for (const group of $$("[data-group]")) {
    let within = 0;
    for (const operation of $$("[data-operation]", group)) {
      const text = operation.textContent.toLowerCase();
      operation.hidden = !words.every((word) => text.includes(word));
      within += operation.hidden ? 0 : 1;
    }
    group.hidden = within === 0;
    found += within;
  }
  $("[data-found]").hidden = words.length === 0;
  $("[data-found]").textContent = found ? `${count(found, "operation")} found.` : "No operation matches. Search for a path, a method or a word of a title.";
}

// The start page lists all operations. The search of other pages leads there.
if (operations.length) {
  search.value = new URLSearchParams(location.search).get("q") ?? "";
  search.addEventListener("input", filter);
  search.form.addEventListener("submit", (event) => event.preventDefault());
  if (search.value) filter();
}

// Wide screens show the contents; narrow ones show them on request.
const contents = $("nav details");
const wide = matchMedia("(min-width: 52rem)");
const unfold = () => { contents.open = wide.matches; };
wide.addEventListener("change", unfold);
unfold();

const utf8 = new TextEncoder();
const base64 = (bytes) => btoa(String.fromCharCode(...bytes));
const hex = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");

async function mac(key, text) {
  const imported = await crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", imported, utf8.encode(text)));
}

const calculator = $("[data-calculator]");
calculator?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const verdict = $("[data-verdict]");
  const say = (text, kind = "") => {
    verdict.textContent = text;
    verdict.className = `note ${kind}`;
    verdict.hidden = text === "";
  };
  $("[data-signatures]").hidden = false;
  $(".computed").hidden = true;
  const { secret, id, timestamp, body, received } = Object.fromEntries(new FormData(calculator));
  // Not from the form data, which has CR LF at the end of each line.
  const text = calculator.elements.body.value;
  let key;
  try {
    key = Uint8Array.from(atob(secret.trim().replace(/^whsec_/, "")), (letter) => letter.charCodeAt(0));
  } catch {
    return say("The secret is not whsec_ and base64.", "bad");
  }
  if (!crypto.subtle) return say("This browser computes signatures only over https or on localhost.", "bad");
  const standard = `v1,${base64(await mac(key, `${id.trim()}.${timestamp}.${text}`))}`;
  const service = `v1=${hex(await mac(utf8.encode(secret.trim()), `${timestamp}.${text}`))}`;
  $(".computed").hidden = false;
  $("[data-standard]").textContent = standard;
  $("[data-service]").textContent = service;
  const given = received.trim().split(/\s+/).filter(Boolean);
  if (!given.length) return say("");
  if (given.some((one) => one === standard || one === service)) return say("The received signature is valid.", "good");
  say("The received signature is not valid for this secret, ID, time and body.", "bad");
});
