<?php

// What the check has told, as JSON: who is known, which keys, how to sign and encrypt.
$folder = getenv('IDP_FOLDER');
$told = json_decode(file_get_contents($folder . '/told.json'), true, 16, JSON_THROW_ON_ERROR);
