// The types of log streams, their fields, and their states.

import { $, $$ } from "./page.js";

export const path = "/api/settings/log-streams";

/** The names and hints of each type. */
export const types = {
  SPLUNK_HEC: {
    name: "Splunk HEC",
    url: "https://splunk.example.com:8088",
    hint: "The address of the HTTP Event Collector. Its usual path is added if there is none.",
    secret: "Token",
    about: "The token of the collector, without indexer acknowledgment.",
  },
  HTTPS: {
    name: "HTTPS",
    url: "https://siem.example.com/audit",
    hint: "Receives batches as POST requests whose body has one JSON object per line.",
    secret: "Value of the header (optional)",
    about: "For example Bearer and a token.",
  },
  OTLP: {
    name: "OTLP",
    url: "https://collector.example.com:4318",
    hint: "The OTLP/HTTP endpoint for logs. Its usual path is added if there is none.",
    secret: "Value of the header (optional)",
    about: "For example Bearer and a token.",
  },
  SYSLOG: {
    name: "Syslog",
    url: "syslog+tls://logs.example.com:6514",
    hint: "Syslog over TLS. The receiver must accept messages of 64 KiB.",
    secret: "Private key of the client certificate (optional)",
    about: "PEM.",
  },
  S3: {
    name: "Object storage",
    url: "https://s3.eu-central-1.amazonaws.com",
    hint: "The endpoint of the storage, without the bucket. A compressed file is written every minute if there are new entries.",
    secret: "Secret access key",
    about: "The key must be allowed to put objects.",
  },
};

/** The optional fields of a receiver. */
export const members = ["header", "bucket", "region", "prefix", "accessKeyId", "caCertificates", "clientCertificate"];

/** Shows the fields of a type. */
export function showType(form, type) {
  const { url, hint, secret, about } = types[type];
  for (const field of $$("[data-for]", form)) field.hidden = !field.dataset.for.split(" ").includes(type);
  form.elements.url.placeholder = url;
  $("[data-hint-url]", form).textContent = hint;
  $("[data-label-secret]", form).textContent = secret;
  $("[data-hint-secret]", form).textContent = about;
}

/** Returns the values of the fields that are shown; empty texts too. */
export function values(form) {
  const shown = members.filter((name) => !form.elements[name].closest("[data-for]").hidden);
  return Object.fromEntries([["url", form.elements.url.value.trim()], ...shown.map((name) => [name, form.elements[name].value.trim()])]);
}

const problems = {
  TIMEOUT: "The receiver did not respond in time.",
  CONNECT: "The receiver could not be reached, or does not speak HTTP.",
  TLS: "The certificate of the receiver is not trusted, or TLS failed.",
  BLOCKED: "Connections to this address are not allowed.",
  TOO_LARGE: "The response of the receiver is too large.",
  DATABASE: "Entries could not be read from the database.",
  CLOSED: "The receiver closed the connection before it had read everything.",
  KEY: "The secret cannot be decrypted. Write it again.",
  SETTINGS: "The settings cannot be used.",
  LOG_ROLLED_BACK: "The audit log has fewer entries than this log stream has sent. Was an old backup restored? Choose the position to continue at.",
};

/** Describes a problem. */
export function problemText({ code, status, response }) {
  const text = code === "REFUSED" ? `The receiver responded with HTTP ${status}.` : (problems[code] ?? code);
  return response ? `${text} ${response}` : text;
}

/** Returns the state of a log stream for its badge. */
export function state({ enabled, failingSince }) {
  if (!enabled) return { name: "paused", kind: "" };
  return failingSince ? { name: "failing", kind: "bad" } : { name: "on", kind: "good" };
}
