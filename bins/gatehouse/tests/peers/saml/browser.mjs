// A minimal browser: keeps cookies, follows redirects, reads forms and submits them.
import assert from "node:assert/strict";

const MAX_REDIRECTS = 10;
const TIMEOUT_SECONDS = 20;
const ENTITIES = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0" };

/** Replaces the character references of HTML. */
export function decodeHtml(text) {
  return text.replace(/&(?:#x([0-9a-f]+)|#(\d+)|(\w+));/gi, (whole, hex, decimal, name) => {
    if (name) return ENTITIES[name] ?? whole;
    return String.fromCodePoint(hex ? Number.parseInt(hex, 16) : Number(decimal));
  });
}

function attributes(tag) {
  const found = {};
  const each = /([^\s"'<>/=]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?/g;
  for (const [, name, ...values] of tag.replace(/^<\w+/, "").matchAll(each)) {
    found[name.toLowerCase()] ??= decodeHtml(values.find((value) => value !== undefined) ?? "");
  }
  return found;
}

/** Returns the forms of a page: `{from, action, method, fields, secret}`; `secret` names the password field. */
function forms({ url, text }) {
  return [...text.matchAll(/<form\b(?:"[^"]*"|'[^']*'|[^>"'])*>/gi)].map((opening) => {
    const rest = text.slice(opening.index + opening[0].length);
    const inside = rest.slice(0, rest.search(/<\/form\b|$/i));
    const { action = "", method = "get" } = attributes(opening[0]);
    const inputs = [...inside.matchAll(/<input\b(?:"[^"]*"|'[^']*'|[^>"'])*>/gi)].map(([tag]) => attributes(tag));
    // A button sends its value only when pressed, a checkbox only when ticked.
    const isSent = ({ name, type, checked }) => {
      if (!name || ["submit", "button", "image", "reset"].includes(type)) return false;
      return !["checkbox", "radio"].includes(type) || checked !== undefined;
    };
    const fields = Object.fromEntries(inputs.filter(isSent).map(({ name, value }) => [name, value ?? ""]));
    const secret = inputs.find(({ type }) => type === "password")?.name;
    return { from: url, action: new URL(action || url, url).href, method: method.toUpperCase(), fields, secret };
  });
}

export class Browser {
  /** By origin. Browsers share cookies between ports; this keeps them apart. */
  cookies = new Map();

  /** Opens an address; returns the page after all redirects. */
  open(url, options) {
    return this.go({ url, method: "GET", ...options });
  }

  /** Submits a form with these values added or replaced; returns the page after all redirects. */
  submit(form, values = {}, options) {
    const body = new URLSearchParams({ ...form.fields, ...values });
    assert.equal(form.method, "POST", `a form to ${form.action}`);
    // An identity provider is another site, and browsers say so in these headers.
    const [from, to] = [new URL(form.from).origin, new URL(form.action).origin];
    const headers = { origin: from, "sec-fetch-site": from === to ? "same-origin" : "cross-site" };
    return this.go({ url: form.action, method: "POST", body, headers, ...options });
  }

  /** Sends a request; `follow: false` returns the redirect itself. */
  async go({ url, method, body, headers = {}, follow = true, accept = "text/html" }) {
    for (let count = 0; count < MAX_REDIRECTS; count += 1) {
      const cookie = this.cookie(url);
      const allHeaders = { ...headers, accept, ...(cookie && { cookie }) };
      const signal = AbortSignal.timeout(TIMEOUT_SECONDS * 1000);
      const answer = await fetch(url, { method, body, headers: allHeaders, redirect: "manual", signal });
      this.keep(url, answer.headers.getSetCookie());
      const text = await answer.text();
      const page = { url, status: answer.status, headers: answer.headers, text };
      page.forms = forms(page);
      const location = answer.headers.get("location");
      if (!follow || !location || answer.status < 300 || answer.status > 399) return page;
      url = new URL(location, url).href;
      // Browsers continue with GET, except after 307 and 308.
      if (answer.status < 307) [method, body, headers] = ["GET", undefined, {}];
    }
    throw new assert.AssertionError({ message: `more than ${MAX_REDIRECTS} redirects, the last to ${url}` });
  }

  /** Returns the Cookie header for an address. It includes Lax cookies: all ports of this machine are one site. */
  cookie(url) {
    const { origin, pathname } = new URL(url);
    const matches = ({ path }) => pathname === path || pathname.startsWith(path.endsWith("/") ? path : `${path}/`);
    const kept = [...(this.cookies.get(origin)?.values() ?? [])].filter(matches);
    return kept.map(({ name, value }) => `${name}=${value}`).join("; ");
  }

  keep(url, lines) {
    const { origin, pathname, protocol } = new URL(url);
    const own = this.cookies.get(origin) ?? new Map();
    this.cookies.set(origin, own);
    for (const line of lines) {
      const [pair, ...pairs] = line.split(";").map((part) => part.trim());
      const [name, value] = pair.split(/=(.*)/s);
      const settings = Object.fromEntries(pairs.map((text) => {
        const [key, setting] = text.split(/=(.*)/s);
        return [key.toLowerCase(), setting];
      }));
      if (protocol === "http:" && "secure" in settings) continue;
      const path = settings.path?.startsWith("/") ? settings.path : pathname.replace(/\/[^/]*$/, "") || "/";
      const { "max-age": maxAge, expires } = settings;
      const isExpired = maxAge !== undefined ? Number(maxAge) <= 0 : Date.parse(expires) <= Date.now();
      if (isExpired) own.delete(`${name} ${path}`);
      else own.set(`${name} ${path}`, { name, value, path });
    }
  }
}
