// The signed log: its newest checkpoint, and proof that the log only grew since the last visit of this browser.

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

/** Shown if the browser cannot verify anything. */
export const UNABLE = "Browsers can verify only on pages opened over HTTPS. Run gatehouse audit verify on the server instead.";

// The checkpoint that is shown, and the object URL of its file.
let shown;
let noteFile;

const look = () => mine("GET", `${path}/checkpoint`, undefined, { Accept: "application/json" });

/** Verifies the signature of a note with the log's keys. See `signatureOf` for the results. */
export async function signature(note) {
  const { keys } = shown ?? (await look());
  const result = await signatureOf(note, keys);
  // The log may have a new key since the page was loaded.
  return result === "STRANGE" ? signatureOf(note, (await look()).keys) : result;
}

// The size and root hash that this browser stored at its last visit. Blocked or malformed storage counts as empty.

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

/** Returns whether the browser stored the checkpoint. */
function remember({ size, rootHash }) {
  try {
    localStorage.setItem(place, JSON.stringify({ size, root: rootHash, at: new Date().toISOString() }));
    return true;
  } catch {
    return false;
  }
}

/** Compares the log with the stored checkpoint. Returns a message and whether the log only grew. */
async function since(before, { size, rootHash }) {
  const day = whole.format(new Date(before.at));
  if (size < before.size) {
    const text = `It had ${entries(before.size)} when you last looked on ${day}, and has ${inWords(size)} now.`;
    return { isWell: false, text };
  }
  const isSame = size === before.size;
  const proof = isSame ? [] : (await mine("GET", `${path}/consistency?from=${before.size}&to=${size}`)).path;
  const isWell = await isBeginning(before.size, bytes(before.root), size, bytes(rootHash), proof.map(bytes));
  if (!isWell) {
    const text = `Entries from before ${day}, when you last looked, were changed, removed or reordered.`;
    return { isWell, text };
  }
  if (isSame) return { isWell, text: `No entries were added or changed since you last looked on ${day}.` };
  return { isWell, text: `Verified: the log only grew, from ${entries(before.size)} to ${inWords(size)}, since you last looked on ${day}.` };
}

function sayCalmly(...what) {
  const grown = $("[data-grown]", part);
  grown.replaceChildren(...what);
  grown.hidden = false;
}

/** Creates a button that replaces the stored checkpoint with the current one. */
function trustButton() {
  const button = element("button", "Trust the current log");
  button.type = "button";
  button.className = "link";
  button.dataset.act = "remember";
  return button;
}

function warn(text, before) {
  const warning = $("[data-warning]", part);
  warning.replaceChildren(
    element("p", element("b", "The log does not match the one that you saw. "), text),
    element("p", "Someone tampered with it, or it was restored from a backup. Inform your security team before you do anything else."),
    element("p", `You saw ${entries(before.size)} with the root hash `, element("code", before.root), ". ", trustButton()),
  );
  warning.hidden = false;
}

/** Compares the log with the stored checkpoint, and stores the current one if the log only grew. */
async function compare(checkpoint, before) {
  if (!canHash()) return sayCalmly(UNABLE);
  if (before === undefined) {
    return sayCalmly(
      remember(checkpoint)
        ? "This browser stored the size and root hash of the log, to verify at your next visit that the log only grew."
        : "This browser blocks storage for this page, so it cannot verify at your next visit that the log only grew.",
    );
  }
  try {
    const { isWell, text } = await since(before, checkpoint);
    if (!isWell) return warn(text, before);
    remember(checkpoint);
    sayCalmly(text);
  } catch (error) {
    if (error.status !== 404) throw error;
    sayCalmly(`Cannot verify that the log only grew since you last looked on ${whole.format(new Date(before.at))}. ${error.message} `, trustButton());
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

/** Loads, shows and compares the newest checkpoint. */
export async function showCheckpoint() {
  const sealed = $("[data-sealed]", part);
  for (const name of ["grown", "warning"]) $(`[data-${name}]`, part).hidden = true;
  // Read before the request: another tab may meanwhile store a checkpoint newer than the response.
  const before = recall();
  try {
    const answer = await look();
    const read = readNote(answer.note);
    if (read?.tenant !== tenant) throw new Refusal(-1, { error: "the server sent a malformed checkpoint" });
    // The signed values override the others.
    shown = { ...answer, ...read };
    draw();
    await compare(shown, before);
  } catch (error) {
    if (error.status !== 404) {
      if (shown === undefined) sealed.textContent = "The checkpoint could not be loaded.";
      return refuse(part, error, true);
    }
    $("[data-checkpoint]", part).hidden = true;
    sealed.textContent = "No entries are sealed yet. Entries are sealed about a second after they are recorded.";
    if (before) warn("It is empty now.", before);
  }
}

onAct("look-again", showCheckpoint);

onAct("remember", async () => {
  localStorage.removeItem(place);
  await showCheckpoint();
});

const verdicts = {
  RIGHT: ["good", "Valid signature", "One of the log's keys signed this checkpoint."],
  WRONG: ["bad", "Invalid signature", "The key that the signature names did not sign this checkpoint."],
  STRANGE: ["bad", "Unknown key", "None of the log's keys signed this checkpoint."],
  UNABLE: ["", "Not verified", "This browser does not support Ed25519. Download the checkpoint and ask the server operator to run gatehouse audit verify."],
};

/** Renders the result of `signatureOf`. */
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
