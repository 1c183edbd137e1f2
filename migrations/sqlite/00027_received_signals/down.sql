DROP TABLE received_signals;
DROP TABLE signal_transmitters;
