// The steps of one login in one browser: to the OpenID provider, and back with its answer.
import assert from "node:assert/strict";
import { Browser } from "./browser.mjs";

const SESSION = /^(__Secure-)?authjs\.session-token(\.0)?=./;
const MAX_REDIRECTS = 10;
/** The page that the login ends at. */
const TARGET = "/account/security";
/** The password of every user at the OpenID provider. */
export const PASSWORD = "a password of theirs";

/** Returns an address with these parameters; `null` removes one. */
export function withParameters(address, parameters) {
  const url = new URL(address);
  for (const [name, value] of Object.entries(parameters)) {
    if (value === null) url.searchParams.delete(name);
    else url.searchParams.set(name, value);
  }
  return url.href;
}

export class Login {
  constructor({ gatehouse, provider, connection, browser = new Browser() }) {
    Object.assign(this, { gatehouse, provider, connection, browser });
  }

  /** Starts the login; returns the provider's form, or its redirect if it does not ask. */
  async start() {
    const page = await this.browser.open(this.gatehouse.loginUrl(this.connection.id, TARGET), { follow: false });
    assert.equal(page.status, 303, page.text);
    const request = new URL(page.headers.get("location"));
    assert.equal(request.origin, this.provider.issuer);
    assert.equal(request.searchParams.get("redirect_uri"), this.connection.redirectUri);
    return this.follow(page);
  }

  /** Follows redirects up to the one back to Gatehouse. */
  async follow(page) {
    for (let count = 0; count < MAX_REDIRECTS; count += 1) {
      const location = page.headers.get("location");
      if (!location || location.startsWith(this.gatehouse.base)) return page;
      page = await this.browser.open(new URL(location, page.url).href, { follow: false });
    }
    throw new assert.AssertionError({ message: `more than ${MAX_REDIRECTS} redirects, the last to ${page.url}` });
  }

  /** Submits the password form with these values; returns the next page. */
  async submit(page, values) {
    const form = page.forms.find(({ secret }) => secret);
    assert.ok(form, `no password form: ${page.status} ${page.headers.get("location")} ${page.text}`);
    return this.follow(await this.browser.submit(form, values, { follow: false }));
  }

  submitPassword(page, username = "ada", password = PASSWORD) {
    return this.submit(page, { username, password });
  }

  /** Returns the address of the provider's redirect to Gatehouse. */
  callback(page) {
    const address = page.headers.get("location");
    const isCallback = address?.startsWith(`${this.connection.redirectUri}?`);
    assert.ok(isCallback, `no callback: ${page.status} ${address} ${page.text}`);
    return address;
  }

  /** Logs in at the provider with a password; returns the address of its redirect. */
  async authenticate(username) {
    return this.callback(await this.submitPassword(await this.start(), username));
  }

  /** Opens the address of a redirect, and asserts that it signs the user in. */
  async assertAccepted(address) {
    const { status, headers, text } = await this.browser.open(address, { follow: false });
    const { reason, detail } = status === 401 ? await this.gatehouse.refusal(this.connection.id) : {};
    assert.deepEqual([status, headers.get("location")], [303, TARGET], `${text}\n${reason} ${detail}`);
    assert.ok(headers.getSetCookie().some((line) => SESSION.test(line)), "there is no session");
    assert.equal(await this.gatehouse.signedInUser(this.browser), `ada@${this.provider.domain}`);
  }

  /** Opens the address of a redirect, and asserts the problem in the answer and the reason in the audit log. */
  async assertRefused(address, reasons, code = "OIDC_REFUSED") {
    const before = await this.gatehouse.refusal(this.connection.id);
    const { status, headers, text } = await this.browser.open(address, { accept: "application/json", follow: false });
    assert.deepEqual([status, status === 401 && JSON.parse(text).code], [401, code], text);
    assert.ok(!headers.getSetCookie().some((line) => SESSION.test(line)), "there is a session");
    // The server records refusals of unknown requests after it has answered.
    const deadline = Date.now() + 5000;
    let recorded = before;
    while (recorded.id === before.id && Date.now() < deadline) {
      recorded = await this.gatehouse.refusal(this.connection.id);
    }
    assert.notEqual(recorded.id, before.id, "the refusal is not in the audit log");
    const { reason, detail } = recorded;
    assert.ok(reasons.includes(reason), `refused for ${reason} (${detail}), not for ${reasons.join(" or ")}`);
  }

  /** Opens the address of a redirect as a browser does, and asserts that a page with the problem answers. */
  async assertRefusedOnPage(address) {
    const { status, headers, text } = await this.browser.open(address);
    assert.equal(status, 401, text);
    assert.match(headers.get("content-type"), /^text\/html/);
    assert.match(text, /\bOIDC_REFUSED\b/);
  }

  /** Confirms the logout page of the provider; returns the page after it. */
  async confirmLogout(page) {
    const form = page.forms.find(({ method }) => method === "POST");
    assert.ok(form, `no logout form: ${page.status} ${page.text}`);
    return this.browser.submit(form, { logout: "yes" });
  }

  async assertSignedOut() {
    assert.equal(await this.gatehouse.signedInUser(this.browser), null);
  }
}
