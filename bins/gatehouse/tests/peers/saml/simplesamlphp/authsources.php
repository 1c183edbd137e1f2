<?php

require __DIR__ . '/settings.php';

$config = ['people' => ['exampleauth:UserPass'] + $settings['people']];
