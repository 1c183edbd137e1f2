// Runs idpyoidc, a Python library, as an OpenID provider.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const SCRIPT = fileURLToPath(new URL("serve_idpyoidc.py", import.meta.url));

export class Idpyoidc {
  static domain = "idpyoidc.example";
  domain = Idpyoidc.domain;
  name = "idpyoidc";
  algorithms = ["RS256", "ES256", "PS256"];
  /** The secret of all clients. idpyoidc does not decode form values in Basic authentication, so none are encoded. */
  secret = "a-secret-of-ours";
  /** It sends its issuer in redirects, but does not say so in its metadata. */
  announcesIssuer = false;
  /** It fails when a request with `max_age` meets a session, because it adds the value as text to a number. */
  honoursMaxAge = false;
  #clients = [];
  #settings = {};
  #log = "";

  /** Starts it with these users: `{name: {password, email}}`; `folder` has the certificate of the server. */
  static async start({ python, folder, people }) {
    const it = Object.assign(new Idpyoidc(), { people });
    it.process = spawn(python, ["-B", SCRIPT, folder], { stdio: ["pipe", "pipe", "pipe"] });
    it.process.stderr.on("data", (text) => (it.#log = (it.#log + text).slice(-4000)));
    it.lines = createInterface({ input: it.process.stdout });
    const { port } = await it.#nextLine();
    it.issuer = `https://localhost:${port}`;
    await it.configure({});
    return it;
  }

  async #nextLine() {
    const ended = new AbortController();
    const gone = once(this.process, "close", { signal: ended.signal }).then(() => {
      throw new Error(`it ended: ${this.#log}`);
    });
    try {
      const [line] = await Promise.race([once(this.lines, "line"), gone]);
      return JSON.parse(line);
    } finally {
      gone.catch(() => {});
      ended.abort();
    }
  }

  #send(command) {
    const answer = this.#nextLine();
    this.process.stdin.write(`${JSON.stringify(command)}\n`);
    return answer;
  }

  /** Registers Gatehouse as a client; `jwksUri` is the address of its keys for `private_key_jwt`. */
  async register(client) {
    this.#clients.push({ ...client, secret: this.secret });
    await this.configure(this.#settings);
  }

  /** Changes how it answers the next logins, and forgets its sessions. */
  async configure(settings) {
    this.#settings = settings;
    await this.#send({ people: this.people, clients: this.#clients, settings });
  }

  /** Returns the algorithm and the claims of the last ID token. */
  lastIdToken() {
    return this.#send("lastIdToken");
  }

  /** Returns the end of its log. */
  async recentLog() {
    return this.#log;
  }

  close() {
    this.process?.stdin.end();
  }
}
