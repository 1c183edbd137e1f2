// The overview. Everything on it is in the page.

import { keepAlive } from "./session.js";

keepAlive();
