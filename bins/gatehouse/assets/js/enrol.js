// A second factor before anything else; then recovery codes where they may be had, then on.

import { onEnrolled, showCodes } from "./factors.js";
import { $ } from "./page.js";
import { mine } from "./session.js";

const { next } = $("[data-next]").dataset;

onEnrolled(async (what) => {
  if (what === "enrolled") {
    try {
      return await showCodes(mine);
    } catch {
      // Who enrols a further factor has codes already. Whoever has none is told on the page of their account.
    }
  }
  location.replace(next);
});
