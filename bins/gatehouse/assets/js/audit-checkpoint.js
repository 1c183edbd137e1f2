// The signed log: its newest checkpoint, and that it has only grown since this browser looked last.

import { Refusal } from "./api.js";
import { bytes, canHash, isBeginning, readNote, signatureOf } from "./audit-proofs.js";
import { $, clear, count, element, localise, onAct, refuse } from "./page.js";
import { mine } from "./session.js";

const path = "/api/settings/audit-log";
const part = $('[data-part="checkpoint"]');
const { tenant } = part.dataset;
const inWords = (number) => number.toLocaleString("en");
const entries = (number) => count(number, "entry", "entries");
const whole = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });

/** Said where nothing can be verified. */
export const UNABLE = "Browsers cannot verify on a page without HTTPS. Run gatehouse audit verify on the server instead.";

// What was looked at last, and where.
let shown;
let noteFile;

const look = () => mine("GET", `${path}/checkpoint`, undefined, { Accept: "application/json" });

/** Whether a note is signed with the log's keys: see `signatureOf`. */
export async function signature(note) {
  const { keys } = shown ?? (await look());
  const result = await signatureOf(note, keys);
  // The log may have got another key since.
  return result === "STRANGE" ? signatureOf(note, (await look()).keys) : result;
}

// What this browser remembers of the log. What is blocked or spoilt is not remembered.

const place = `gatehouse.audit-log.${tenant}`;

function recall() {
  try {
    const { size, root, at } = JSON.parse(localStorage.getItem(place));
    const isWhole = Number.isSafeInteger(size) && bytes(root).length === 32 && !Number.isNaN(Date.parse(at));
    return isWhole ? { size, root, at } : undefined;
  } catch {
    return undefined;
  }
}

/** Answers whether the browser keeps it. */
function remember({ size, rootHash }) {
  try {
    localStorage.setItem(place, JSON.stringify({ size, root: rootHash, at: new Date().toISOString() }));
    return true;
  } catch {
    return false;
  }
}

/** What became of the log since it was remembered: what to say, and whether all is well. */
async function since(before, { size, rootHash }) {
  const day = whole.format(new Date(before.at));
  if (size < before.size) {
    const text = `It had ${entries(before.size)} on ${day} and has ${inWords(size)} now.`;
    return { isWell: false, text };
  }
  const isSame = size === before.size;
  const proof = isSame ? [] : (await mine("GET", `${path}/consistency?from=${before.size}&to=${size}`)).path;
  const isWell = await isBeginning(before.size, bytes(before.root), size, bytes(rootHash), proof.map(bytes));
  if (!isWell) {
    const text = `Entries from before your visit on ${day} were changed, removed or reordered since.`;
    return { isWell, text };
  }
  if (isSame) return { isWell, text: `No entries were added or changed since your visit on ${day}.` };
  return { isWell, text: `Verified: grown from ${entries(before.size)} to ${inWords(size)} since your visit on ${day}.` };
}

function sayCalmly(...what) {
  const grown = $("[data-grown]", part);
  grown.replaceChildren(...what);
  grown.hidden = false;
}

/** A button that forgets what was remembered, in favour of what is so now. */
function anew() {
  const button = element("button", "Accept the present log");
  button.type = "button";
  button.className = "link";
  button.dataset.act = "remember";
  return button;
}

function warn(text, before) {
  const warning = $("[data-warning]", part);
  warning.replaceChildren(
    element("p", element("b", "This is not the log of your last visit. "), text),
    element("p", "Somebody changed it, or a backup was restored. Tell your security team before you do anything else."),
    element("p", `Your last visit: ${entries(before.size)} with the root `, element("code", before.root), ". ", anew()),
  );
  warning.hidden = false;
}

/** Compares the log with what was remembered of it, and remembers what is so now if all is well. */
async function compare(checkpoint, before) {
  if (!canHash()) return sayCalmly(UNABLE);
  if (before === undefined) {
    return sayCalmly(
      remember(checkpoint)
        ? "First visit with this browser. It remembers the log's size and root, to verify at your next visit that the log only grew."
        : "This browser stores nothing for this page, so it cannot verify at your next visit that the log only grew.",
    );
  }
  try {
    const { isWell, text } = await since(before, checkpoint);
    if (!isWell) return warn(text, before);
    remember(checkpoint);
    sayCalmly(text);
  } catch (error) {
    if (error.status !== 404) throw error;
    sayCalmly(`The log's growth since your visit on ${whole.format(new Date(before.at))} could not be verified. ${error.message} `, anew());
  }
}

function draw() {
  const { origin, size, rootHash, sealedAt, note, keys } = shown;
  const time = element("time");
  time.dateTime = sealedAt;
  $("[data-sealed]", part).replaceChildren(`${entries(size)}, sealed `, time);
  localise($("[data-sealed]", part));
  const values = { origin, size: inWords(size), root: rootHash, note, keys: keys.join("\n") };
  for (const [name, value] of Object.entries(values)) $(`[data-${name}]`, part).textContent = value;
  if (noteFile) URL.revokeObjectURL(noteFile);
  noteFile = URL.createObjectURL(new Blob([note], { type: "text/plain" }));
  Object.assign($("[data-download]", part), { href: noteFile, download: `audit-log-checkpoint-${size}.txt` });
  $("[data-checkpoint]", part).hidden = false;
  $("[data-signature]", part).hidden = true;
}

/** Looks at the log as it is now. */
export async function showCheckpoint() {
  const sealed = $("[data-sealed]", part);
  for (const name of ["grown", "warning"]) $(`[data-${name}]`, part).hidden = true;
  // Recalled before the server is asked: what another tab remembers meanwhile may be newer than the answer.
  const before = recall();
  try {
    const answer = await look();
    const read = readNote(answer.note);
    if (read?.tenant !== tenant) throw new Refusal(-1, { error: "the server's response is not a checkpoint of this log" });
    // What is signed is what counts.
    shown = { ...answer, ...read };
    draw();
    await compare(shown, before);
  } catch (error) {
    if (error.status !== 404) {
      if (shown === undefined) sealed.textContent = "The checkpoint could not be loaded.";
      return refuse(part, error, true);
    }
    $("[data-checkpoint]", part).hidden = true;
    sealed.textContent = "Nothing is sealed yet. Entries are sealed about a second after they are written.";
    if (before) warn("It is empty.", before);
  }
}

onAct("look-again", showCheckpoint);

onAct("remember", async () => {
  localStorage.removeItem(place);
  await showCheckpoint();
});

const verdicts = {
  RIGHT: ["good", "Valid signature", "One of the log's keys signed this checkpoint."],
  WRONG: ["bad", "Invalid signature", "The key that the checkpoint names did not sign it."],
  STRANGE: ["bad", "Unknown key", "None of the keys above signed this checkpoint."],
  UNABLE: ["", "Not verified", "This browser does not support Ed25519. Ask the operator to run gatehouse audit verify."],
};

/** A verdict on a signature, to read. */
export function verdict(result) {
  const [kind, name, text] = verdicts[result];
  const badge = element("span", name);
  badge.className = `badge ${kind}`.trim();
  return [badge, ` ${text}`];
}

onAct("verify-signature", async () => {
  const said = $("[data-signature]", part);
  said.replaceChildren(...(canHash() ? verdict(await signature(shown.note)) : [UNABLE]));
  said.hidden = false;
});
