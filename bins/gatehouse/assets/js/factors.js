// Enrolling second factors, and recovery codes: the same on every page that has the dialogs.

import { Refusal } from "./api.js";
import { $, copy, onAct, onSend, open } from "./page.js";
import * as passkeys from "./passkeys.js";
import { ask } from "./session.js";

let app;
let passkey;
let codes = [];
let done = async () => {};

/** What to do when a factor counts ("enrolled"), and once codes are kept ("kept"). */
export function onEnrolled(work) {
  done = work;
}

/** Shows new recovery codes until they are kept; they are asked for by `how`. */
export async function showCodes(how = ask) {
  codes = (await how("POST", "/api/me/recovery-codes")).codes;
  const dialog = open("codes");
  $("[data-codes]", dialog).replaceChildren(
    ...codes.map((code) => Object.assign(document.createElement("li"), { textContent: code })),
  );
  const text = `Gatehouse recovery codes, each good once\n\n${codes.join("\n")}\n`;
  $("[data-download]", dialog).href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
}

onAct("add-passkey", async () => {
  // What was begun is gone on with when the authenticator's question was closed: it may have cost a proof.
  passkey ??= await ask("POST", "/api/me/factors/passkeys/options");
  const credential = await passkeys.create(passkey.webauthn);
  const { challengeId } = passkey;
  passkey = undefined;
  await ask("POST", "/api/me/factors/passkeys/verify", { challengeId, credential });
  await done("enrolled");
});

onAct("add-app", async () => {
  app = await ask("POST", "/api/me/factors/totp");
  const dialog = open("enrol-app");
  const drawing = new DOMParser().parseFromString(app.qrSvg, "image/svg+xml").documentElement;
  $("[data-qr]", dialog).replaceChildren(document.importNode(drawing, true));
  $("[data-secret]", dialog).textContent = app.secret.replace(/(.{4})(?=.)/g, "$1 ");
  $("[name=code]", dialog).focus();
});

onSend("app", async (fields, form) => {
  const code = fields.get("code").replaceAll(" ", "");
  try {
    await ask("POST", "/api/me/factors/totp/verify", { id: app.id, code });
  } catch (error) {
    if (error.status !== 404) throw error;
    throw new Refusal(-1, { error: "this took too long, or was begun again elsewhere; cancel and start over" });
  }
  form.closest("dialog").close();
  await done("enrolled");
});

onSend("codes", async (_, form) => {
  form.closest("dialog").close();
});

document.getElementById("enrol-app")?.addEventListener("close", () => {
  app = undefined;
  $("[data-qr]").replaceChildren();
  $("[data-secret]").textContent = "";
});

document.getElementById("codes")?.addEventListener("close", () => {
  URL.revokeObjectURL($("[data-download]").href);
  $("[data-codes]").replaceChildren();
  codes = [];
  done("kept");
});

// Leaving with Escape would lose what is shown only once.
document.getElementById("codes")?.addEventListener("cancel", (event) => event.preventDefault());

document.addEventListener("click", (event) => {
  if (event.target.closest("[data-copy-codes]")) copy(codes.join("\n"));
});
