// The API client of the pages.

/** The prefix of an error message: the field of the request body that is invalid. */
const PATH = /^([A-Za-z]+)(?:\[([0-9]+)\])?(?:\.[A-Za-z]+)*: /;

/** An error response of the server, or a failed connection (status 0). */
export class Refusal extends Error {
  constructor(status, body, retryAfter) {
    super(sentence(status, body, retryAfter));
    this.status = status;
    this.code = body.code ?? "";
    this.reason = body.reason ?? "";
    this.purpose = body.purpose ?? "";
    const [, field, index] = (status === 400 && PATH.exec(body.error ?? "")) || [];
    /** The invalid field, if any, and the index of the invalid value. */
    this.field = field ?? "";
    this.index = index === undefined ? undefined : Number(index);
  }
}

const wait = (seconds) =>
  seconds < 90 ? `${seconds} seconds` : seconds < 5400 ? `${Math.ceil(seconds / 60)} minutes` : `${Math.ceil(seconds / 3600)} hours`;

function sentence(status, body, retryAfter) {
  if (status === 0) return "The server cannot be reached. Check your connection and try again.";
  if (status === 429) return `Too many attempts. Try again in ${wait(Number(retryAfter) || 60)}.`;
  const text = (body.error ?? "Something went wrong").replace(PATH, "");
  // A domain name and a URL keep their case.
  const first = /^[a-z]+(?!:\/\/|[\w.-])/.test(text) ? text.charAt(0).toUpperCase() : text.charAt(0);
  return `${first}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;
}

/** Sends a request and returns the response. Throws a `Refusal`. */
export async function request(method, path, body, headers = {}) {
  let answer;
  try {
    answer = await fetch(path, {
      method,
      headers: body === undefined ? headers : { ...headers, "Content-Type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
      credentials: "same-origin",
      cache: "no-store",
    });
  } catch {
    throw new Refusal(0, {});
  }
  if (!answer.ok) throw new Refusal(answer.status, await answer.json().catch(() => ({})), answer.headers.get("Retry-After"));
  return answer;
}

/** Sends a request and returns the body of the response. Throws a `Refusal`. */
export async function call(...asked) {
  const answer = await request(...asked);
  return answer.json().catch(() => ({}));
}
