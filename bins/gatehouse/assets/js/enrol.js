// A second factor before anything else; then recovery codes, then on.

import { Refusal } from "./api.js";
import { onEnrolled, showCodes } from "./factors.js";
import { $ } from "./page.js";

const { next } = $("[data-next]").dataset;

onEnrolled(async (what) => {
  if (what === "kept") {
    location.assign(next);
    return;
  }
  try {
    await showCodes();
  } catch (error) {
    // A session begun with a recovery code has enrolled what was lost; the codes there are stay good.
    if (!(error instanceof Refusal) || error.code !== "STEP_UP_REQUIRED") throw error;
    location.assign(next);
  }
});
