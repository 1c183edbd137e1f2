// A server with HTTPS: sessions that are bound to a key of the browser, and passkeys at related origins.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { X509Certificate, createHash } from "node:crypto";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import https from "node:https";
import { promisify } from "node:util";
import { authenticator, launch, somebody } from "./eyes.mjs";
import { idp } from "./idp.mjs";

/** Chromium has Device Bound Session Credentials on Linux only with keys in software. */
const FEATURES = "DeviceBoundSessions:RequireOriginTrialTokens/false/RefreshQuota/false,EnableBoundSessionCredentialsSoftwareKeysForManualTesting";
const BASE = "https://gate.test";
const BOUND = /^__Host-gatehouse-bound-/;

/** Waits until a condition is true. */
async function until(what, isSo) {
  const deadline = Date.now() + 45_000;
  while (!(await isSo())) {
    assert.ok(Date.now() < deadline, what);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

/** Starts a site with empty pages, such as that of an application. */
async function site(certificate) {
  const server = https.createServer(certificate, (_, response) => {
    response.setHeader("Content-Type", "text/html");
    response.end('<!doctype html><title>Application</title><a href="https://gate.test/account/security">Account</a>');
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}

/** Starts a browser that trusts this certificate, and in which the names lead to this machine. */
async function start(cert, port, sitePort) {
  const key = new X509Certificate(cert).publicKey.export({ type: "spki", format: "der" });
  return launch([
    `--enable-features=${FEATURES}`,
    `--host-resolver-rules=MAP gate.test:443 127.0.0.1:${port}, MAP app.test:443 127.0.0.1:${sitePort}, MAP other.test:443 127.0.0.1:${sitePort}`,
    // Not ignoreHTTPSErrors: browsers bind no session over a connection with a certificate error.
    `--ignore-certificate-errors-spki-list=${createHash("sha256").update(key).digest("base64")}`,
  ]);
}

/** Sends a request to the server as the backend of an application does. */
function post(port, cert, path, body) {
  return new Promise((resolve, reject) => {
    const options = { host: "127.0.0.1", port, path, method: "POST", servername: "gate.test", ca: cert, headers: { Host: "gate.test", "Content-Type": "application/json" } };
    const request = https.request(options, async (response) => {
      let text = "";
      for await (const part of response) text += part;
      resolve({ status: response.statusCode, body: JSON.parse(text) });
    });
    request.on("error", reject);
    request.end(JSON.stringify(body));
  });
}

/** Signs in and collects what the browser reports about bound sessions. */
async function signedIn(browser, password) {
  const { context, page, complaints } = await somebody(browser, BASE);
  const events = [];
  const devtools = await context.newCDPSession(page);
  devtools.on("Network.deviceBoundSessionEventOccurred", (event) => events.push(event));
  await devtools.send("Network.enable");
  await devtools.send("Network.enableDeviceBoundSessions", { enable: true });
  await page.goto("/auth/login?next=/account/security");
  await page.getByLabel("Email").fill("ada@example.com");
  await page.getByLabel("Password", { exact: true }).fill(password);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.waitForURL((url) => url.pathname === "/account/security");
  return { context, page, complaints, events };
}

const isBound = async (context) => (await context.cookies()).some((cookie) => BOUND.test(cookie.name));

/** The session cookie survives a theft for minutes: only the browser with the key gets the next short-lived cookie. */
async function boundSession(browser, password, see) {
  const { context, page, complaints, events } = await signedIn(browser, password);
  await until("the session is bound", () => isBound(context));
  assert.ok(events.some((event) => event.succeeded && event.creationEventDetails), JSON.stringify(events));
  await page.reload();
  await page.getByText("bound to the device").waitFor();
  await see(page, "bound-session");

  // The thief has all cookies, and no key.
  const stolen = await browser.newContext({ baseURL: BASE });
  await stolen.addCookies(await context.cookies());
  const thief = await stolen.newPage();
  await thief.goto("/account/security");
  assert.equal(new URL(thief.url()).pathname, "/account/security", "both cookies are copied");

  // The cookie expires in both. The browser with the key renews it before its next request, also if a link on another site
  // leads here. The server requires the cookie 30 seconds after it bound the session.
  const expire = (where) => where.clearCookies({ name: BOUND });
  await expire(stolen);
  await until("the server requires the cookie", async () => {
    await thief.goto("/account/security");
    return new URL(thief.url()).pathname === "/auth/login";
  });
  for (const from of [undefined, "https://other.test/"]) {
    if (from) await page.goto(from);
    await expire(context);
    const before = events.length;
    if (from) await page.getByRole("link", { name: "Account" }).click();
    else await page.goto("/account/security");
    await page.getByText("bound to the device").waitFor();
    assert.ok(await isBound(context));
    assert.ok(events.slice(before).some((event) => event.refreshEventDetails?.refreshResult === "Refreshed"), JSON.stringify(events));
  }
  await thief.goto("/account/security");
  assert.equal(new URL(thief.url()).pathname, "/auth/login");

  // The audit log shows the attempt.
  await page.goto("/settings/audit-log?action=ACCOUNT_SESSION_COOKIE_REFUSED");
  await page.getByText("ACCOUNT_SESSION_COOKIE_REFUSED").first().waitFor();
  await stolen.close();

  // Signing out deletes the cookie, and the browser forgets the session.
  await page.goto("/account/security");
  await page.locator(".bar > .account").click();
  await page.locator("#account").getByRole("button", { name: "Sign out" }).click();
  await page.getByText("You are signed out.").waitFor();
  assert.ok(!(await isBound(context)));
  assert.deepEqual(complaints, []);
  await context.close();
}

/** A sign-in through an identity provider binds its session, too: it ends with a POST from another site. */
async function boundBySso(browser, { folder, program, environment }) {
  const provider = await idp();
  const metadata = `${folder}/metadata.xml`;
  await writeFile(metadata, await (await fetch(provider.metadata)).text());
  const words = ["saml", "add", "--tenant", "acme", "--name", "Corp", "--email-domains", "corp.example", "--metadata", metadata, "--json"];
  const { stdout } = await promisify(execFile)(program, words, { env: { ...process.env, ...environment } });
  Object.assign(provider.answer, { email: "kim@corp.example" });
  const { context, page, complaints } = await somebody(browser, BASE);
  await page.goto(`/api/saml/${JSON.parse(stdout).id}/login?relayState=/account/security`);
  await page.waitForURL((url) => url.pathname === "/account/security");
  await until("the session is bound", () => isBound(context));
  await page.reload();
  await page.getByText("bound to the device").waitFor();
  assert.deepEqual(complaints, []);
  await context.close();
  provider.close();
}

/** A passkey works on the page of an application that the server lists, and on no other. */
async function relatedOrigins(browser, password, port, cert) {
  const { page, context } = await somebody(browser, BASE);
  await authenticator(page);
  await page.goto("/auth/login?next=/account/security");
  await page.getByLabel("Email").fill("ada@example.com");
  await page.getByLabel("Password", { exact: true }).fill(password);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  // A click has no effect before the scripts of the page have run.
  await page.waitForURL((url) => url.pathname === "/account/security");
  await page.getByRole("button", { name: "Add a passkey", exact: true }).click();
  await page.getByRole("button", { name: "I saved the codes", exact: true }).click();
  const ask = async () => {
    const { body } = await post(port, cert, "/api/auth/passkey/options", {});
    const credential = await page.evaluate(async (options) => {
      const given = await navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) });
      return given.toJSON();
    }, body.webauthn);
    return { challengeId: body.challengeId, credential };
  };
  await page.goto("https://app.test/");
  const answer = await post(port, cert, "/api/auth/passkey/verify", await ask());
  assert.equal(answer.body.status, "SIGNED_IN", JSON.stringify(answer));
  await page.goto("https://other.test/");
  await assert.rejects(ask(), /SecurityError|relying party ID/);
  await context.close();
}

/** Runs the walk on the server that these facts describe: see `secure.rs`. */
export async function secure(facts, password, see) {
  const { port, folder } = facts;
  const [cert, key] = await Promise.all(["server.pem", "server.key"].map((name) => readFile(`${folder}/${name}`)));
  const application = await site({ cert, key });
  const browser = await start(cert, port, application.address().port);
  try {
    await boundSession(browser, password, see);
    await boundBySso(browser, facts);
    await relatedOrigins(browser, password, port, cert);
  } finally {
    await browser.close();
    application.close();
  }
}
