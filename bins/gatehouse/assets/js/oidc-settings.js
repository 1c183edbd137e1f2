// Changes or removes an OpenID Connect connection.

import { body, explained, fill } from "./oidc-form.js";
import { settings } from "./sso-change.js";

settings({ body, explained, fill });
