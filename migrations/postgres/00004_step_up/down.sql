DROP TABLE step_up_tokens;
DROP TABLE step_up_challenges;
