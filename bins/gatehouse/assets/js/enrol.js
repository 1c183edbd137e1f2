// Enrolment of a second factor after a sign-in. Then shows recovery codes and continues.

import { onEnrolled, showCodes } from "./factors.js";
import { $ } from "./page.js";
import { mine } from "./session.js";

const { next } = $("[data-next]").dataset;

onEnrolled(async (what) => {
  if (what === "enrolled") {
    try {
      return await showCodes(mine);
    } catch {
      // A user with another factor has codes already. The security page warns users without any.
    }
  }
  location.replace(next);
});
