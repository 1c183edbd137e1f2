<?php

require __DIR__ . '/told.php';

$config = ['people' => ['exampleauth:UserPass'] + $told['people']];
