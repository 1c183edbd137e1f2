// A browser without a window: it keeps cookies, follows redirects, reads forms and submits them.
import assert from "node:assert/strict";

/** Redirects in a row at most. */
const PATIENCE = 10;
/** For one answer at most. */
const SECONDS = 20;
const NAMED = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0" };

/** What a text of HTML means. */
export function decoded(text) {
  return text.replace(/&(?:#x([0-9a-f]+)|#(\d+)|(\w+));/gi, (whole, hex, decimal, name) => {
    if (name) return NAMED[name] ?? whole;
    return String.fromCodePoint(hex ? Number.parseInt(hex, 16) : Number(decimal));
  });
}

function attributes(tag) {
  const found = {};
  const each = /([^\s"'<>/=]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?/g;
  for (const [, name, ...values] of tag.replace(/^<\w+/, "").matchAll(each)) {
    found[name.toLowerCase()] ??= decoded(values.find((value) => value !== undefined) ?? "");
  }
  return found;
}

/** The forms of a page: where each goes, how, and what is in it. */
function forms({ url, text }) {
  return [...text.matchAll(/<form\b(?:"[^"]*"|'[^']*'|[^>"'])*>/gi)].map((opening) => {
    const rest = text.slice(opening.index + opening[0].length);
    const inside = rest.slice(0, rest.search(/<\/form\b|$/i));
    const { action = "", method = "get" } = attributes(opening[0]);
    const inputs = [...inside.matchAll(/<input\b(?:"[^"]*"|'[^']*'|[^>"'])*>/gi)].map(([tag]) => attributes(tag));
    // A button sends its value only where it is pressed; a box, where it is ticked.
    const sent = ({ name, type, checked }) => {
      if (!name || ["submit", "button", "image", "reset"].includes(type)) return false;
      return !["checkbox", "radio"].includes(type) || checked !== undefined;
    };
    const fields = Object.fromEntries(inputs.filter(sent).map(({ name, value }) => [name, value ?? ""]));
    const secret = inputs.find(({ type }) => type === "password")?.name;
    return { from: url, action: new URL(action || url, url).href, method: method.toUpperCase(), fields, secret };
  });
}

export class Browser {
  /** By origin, which is stricter than browsers are: they do not tell ports apart. */
  cookies = new Map();

  /** Opens an address: the page that is there at last. */
  open(url, options) {
    return this.go({ url, method: "GET", ...options });
  }

  /** Sends a form, with more or other values: the page that is there at last. */
  submit(form, values = {}, options) {
    const body = new URLSearchParams({ ...form.fields, ...values });
    assert.equal(form.method, "POST", `a form to ${form.action}`);
    // Identity providers are other sites. A request of another site is what this is to the one that gets it.
    const [from, to] = [new URL(form.from).origin, new URL(form.action).origin];
    const headers = { origin: from, "sec-fetch-site": from === to ? "same-origin" : "cross-site" };
    return this.go({ url: form.action, method: "POST", body, headers, ...options });
  }

  /** `follow: false` shows the redirect itself. */
  async go({ url, method, body, headers = {}, follow = true, accept = "text/html" }) {
    for (let count = 0; count < PATIENCE; count += 1) {
      const cookie = this.cookie(url);
      const sent = { ...headers, accept, ...(cookie && { cookie }) };
      const signal = AbortSignal.timeout(SECONDS * 1000);
      const answer = await fetch(url, { method, body, headers: sent, redirect: "manual", signal });
      this.keep(url, answer.headers.getSetCookie());
      const text = await answer.text();
      const page = { url, status: answer.status, headers: answer.headers, text };
      page.forms = forms(page);
      const location = answer.headers.get("location");
      if (!follow || !location || answer.status < 300 || answer.status > 399) return page;
      url = new URL(location, url).href;
      // All browsers go on so, but for 307 and 308.
      if (answer.status < 307) [method, body, headers] = ["GET", undefined, {}];
    }
    throw new assert.AssertionError({ message: `more than ${PATIENCE} redirects, the last to ${url}` });
  }

  /** What is sent to an address. Lax cookies too: to a browser, all on this machine is one site. */
  cookie(url) {
    const { origin, pathname } = new URL(url);
    const under = ({ path }) => pathname === path || pathname.startsWith(path.endsWith("/") ? path : `${path}/`);
    const kept = [...(this.cookies.get(origin)?.values() ?? [])].filter(under);
    return kept.map(({ name, value }) => `${name}=${value}`).join("; ");
  }

  keep(url, lines) {
    const { origin, pathname, protocol } = new URL(url);
    const own = this.cookies.get(origin) ?? new Map();
    this.cookies.set(origin, own);
    for (const line of lines) {
      const [pair, ...words] = line.split(";").map((part) => part.trim());
      const [name, value] = pair.split(/=(.*)/s);
      const said = Object.fromEntries(words.map((word) => {
        const [key, of] = word.split(/=(.*)/s);
        return [key.toLowerCase(), of];
      }));
      if (protocol === "http:" && "secure" in said) continue;
      const path = said.path?.startsWith("/") ? said.path : pathname.replace(/\/[^/]*$/, "") || "/";
      const over = "max-age" in said ? Number(said["max-age"]) <= 0 : Date.parse(said.expires) <= Date.now();
      if (over) own.delete(`${name} ${path}`);
      else own.set(`${name} ${path}`, { name, value, path });
    }
  }
}
