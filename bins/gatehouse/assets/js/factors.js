// Enrolment of second factors and recovery codes, for all pages with these dialogs.

import { Refusal } from "./api.js";
import { $, copy, onAct, onSend, open } from "./page.js";
import * as passkeys from "./passkeys.js";
import { ask } from "./session.js";

let app;
let passkey;
let codes = [];
let done = async () => {};

/** Sets the callback for an enrolled factor ("enrolled") and for saved recovery codes ("kept"). */
export function onEnrolled(work) {
  done = work;
}

/** Generates recovery codes through `how` and shows them until the user confirms that they are saved. */
export async function showCodes(how = ask) {
  codes = (await how("POST", "/api/me/recovery-codes")).codes;
  const dialog = open("codes");
  $("[data-codes]", dialog).replaceChildren(
    ...codes.map((code) => Object.assign(document.createElement("li"), { textContent: code })),
  );
  const text = `Gatehouse recovery codes. Each code works once.\n\n${codes.join("\n")}\n`;
  $("[data-download]", dialog).href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
}

onAct("add-passkey", async () => {
  // A canceled enrolment is continued, because a new one may require another step-up.
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
    throw new Refusal(-1, { error: "this setup expired or was restarted elsewhere. Cancel and start again" });
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

// Closing the dialog with Escape would lose codes that are shown only once.
document.getElementById("codes")?.addEventListener("cancel", (event) => event.preventDefault());

document.addEventListener("click", (event) => {
  if (event.target.closest("[data-copy-codes]")) copy(codes.join("\n"));
});
