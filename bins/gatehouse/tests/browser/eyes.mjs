// The browser of the tests: screenshots in two widths and two themes, each checked with axe.
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { createRequire } from "node:module";
import { readFile } from "node:fs/promises";
import { chromium } from "playwright-core";

const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const widths = { narrow: { width: 390, height: 844 }, wide: { width: 1440, height: 900 } };
/** The rules of axe that depend on colors. All rules are checked in the light theme, which the dark one changes only in these. */
const colors = ["color-contrast", "link-in-text-block"];
/** The narrowest window in which pages may not scroll sideways. */
const narrowest = { width: 360, height: 780 };

/** Starts the browser, with further arguments. */
export async function launch(further = []) {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run", ...further],
  });
}

/** The open pages, with their latest responses and their complaints. */
const pages = new Map();

/** Creates a user with a browser context. Errors and console errors of pages are collected in `complaints`. */
export async function somebody(browser, base) {
  // The OpenID provider of the tests has a self-signed certificate.
  const context = await browser.newContext({ baseURL: base, viewport: widths.wide, ignoreHTTPSErrors: true });
  await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: base });
  const page = await context.newPage();
  const complaints = [];
  const answers = [];
  page.on("response", (answer) => answers.push({ path: new URL(answer.url()).pathname, status: answer.status() }));
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (message) => {
    // Some steps test refused requests.
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource")) complaints.push(message.text());
  });
  page.on("requestfailed", (request) => answers.push({ path: new URL(request.url()).pathname, status: request.failure()?.errorText }));
  pages.set(page, { answers, complaints });
  page.on("close", () => pages.delete(page));
  // Conditions are awaited, and the machine may be slow.
  page.setDefaultTimeout(45_000);
  // The browser asks before unsaved changes are lost.
  page.on("dialog", (dialog) => dialog.accept());
  /** Counts the responses to this path with this status. */
  const count = (path, status) => answers.filter((answer) => answer.path === path && answer.status === status).length;
  return { context, page, complaints, count };
}

/** Prints what the open pages show, their latest responses and their complaints. Takes screenshots of them. */
export async function report(folder) {
  for (const [index, [page, { answers, complaints }]] of [...pages].entries()) {
    console.log(`page ${index}: ${page.url()}`);
    console.log(answers.slice(-12).map(({ path, status }) => `  ${status} ${path}`).join("\n"));
    for (const complaint of complaints) console.log(`  ${complaint}`);
    console.log(await page.locator("body").ariaSnapshot().catch(String));
    await page.screenshot({ path: `${folder}/failed-${index}.png` }).catch((error) => console.log(String(error)));
  }
}

/** Adds a virtual platform authenticator that approves every request. */
export async function authenticator(page) {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("WebAuthn.enable");
  await page.addInitScript(() => {
    if (sessionStorage.getItem("offered") === "false") PublicKeyCredential.isConditionalMediationAvailable = async () => false;
  });
  const { authenticatorId } = await devtools.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2", transport: "internal", hasResidentKey: true, hasUserVerification: true,
      isUserVerified: true, automaticPresenceSimulation: true,
    },
  });
  return {
    credentials: async () => (await devtools.send("WebAuthn.getCredentials", { authenticatorId })).credentials,
    /** Turns passkey autofill on or off. With it, this authenticator signs in at once. */
    offered: (yes) => page.evaluate((yes) => sessionStorage.setItem("offered", yes), yes),
  };
}

/** Computes the code of an authenticator app (RFC 6238), some time steps from now. */
export function code(secret, steps = 0) {
  const bits = [...secret.replace(/\s/g, "")].map((letter) => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".indexOf(letter).toString(2).padStart(5, "0")).join("");
  const key = Buffer.from(bits.match(/.{8}/g).map((byte) => Number.parseInt(byte, 2)));
  const moment = Buffer.alloc(8);
  moment.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000) + steps));
  const hash = createHmac("sha1", key).update(moment).digest();
  const number = hash.readUInt32BE(hash[19] & 15) & 0x7fffffff;
  return String(number % 1_000_000).padStart(6, "0");
}

/** Signs out with the account menu. */
export async function signOut(page) {
  await page.locator(".bar > .account").click();
  await page.locator("#account").getByRole("button", { name: "Sign out" }).click();
}

/** Returns how many pixels the page is wider than its window. */
const excess = (page) => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);

/** Takes screenshots of the page and fails on horizontal overflow and on serious findings of axe. */
export async function look(page, name, folder) {
  const findings = [];
  await page.evaluate(axe);
  for (const [width, viewport] of Object.entries(widths)) {
    await page.setViewportSize(viewport);
    for (const theme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
      // The API reference is long, and the machine may be slow.
      await page.screenshot({ path: `${folder}/${name}-${width}-${theme}.png`, fullPage: true, timeout: 60_000 });
      const wide = await excess(page);
      assert.ok(wide <= 0, `${name} at ${width}: ${wide} px wider than the window`);
      const rules = theme === "light" ? {} : { runOnly: colors };
      const { violations } = await page.evaluate((rules) => globalThis.axe.run(document, { resultTypes: ["violations"], ...rules }), rules);
      for (const { id, impact, nodes } of violations) {
        findings.push({ where: `${name}-${width}-${theme}`, id, impact, what: nodes[0].html, why: nodes[0].failureSummary });
      }
    }
  }
  await page.setViewportSize(narrowest);
  assert.ok((await excess(page)) <= 0, `${name} is wider than the narrowest window`);
  await page.setViewportSize(widths.wide);
  await page.emulateMedia({ colorScheme: "light" });
  for (const finding of findings) console.log(`  axe, ${finding.impact}: ${JSON.stringify(finding)}`);
  const grave = findings.filter(({ impact }) => impact === "serious" || impact === "critical");
  assert.deepEqual(grave, [], "serious findings of axe");
}
