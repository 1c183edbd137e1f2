<?php

require __DIR__ . '/told.php';

// Keys that start with `new_` are announced and not yet used.
$metadata['__DYNAMIC:1__'] = [
    'host' => '__DEFAULT__',
    'auth' => 'people',
    'SingleSignOnServiceBinding' => [SAML2\Constants::BINDING_HTTP_POST, SAML2\Constants::BINDING_HTTP_REDIRECT],
] + $told['keys'];
