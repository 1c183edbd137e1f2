// Lets one copy what is to be quoted.

import "./page.js";
