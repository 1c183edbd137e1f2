// Enables the copy button.

import "./page.js";
