// The header of the pages of an SSO connection of either protocol: its state and warnings.

import { $ } from "./page.js";
import { resource } from "./resource.js";
import { isOidc, oidcPath, samlPath, trouble, warned } from "./sso-words.js";

const part = $('[data-part="head"]');

export const { id } = part.dataset;

/** The connection's API path. */
export const own = `${isOidc(id) ? oidcPath : samlPath}/${id}`;

/** The connection, as last received. */
export let provider;

export const { show, onChange: onProvider, load } = resource(own, (now) => {
  provider = now;
  $("[data-entity]", part).textContent = now.issuer ?? now.entityId;
  $("[data-state]", part).replaceChildren(...[trouble(now)].filter(Boolean));
  $("[data-warnings]", part).replaceChildren(...warned(now.warnings));
});
