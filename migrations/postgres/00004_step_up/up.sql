-- Step-up: pending challenges and unused tokens.

CREATE TABLE step_up_challenges (
    tenant_id TEXT NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    session_id TEXT COLLATE "C" NOT NULL,
    purpose TEXT NOT NULL,
    factors JSON NOT NULL,
    state JSON NOT NULL,
    created_at TIMESTAMP NOT NULL,
    wrong_answers BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX step_up_challenges_user ON step_up_challenges (tenant_id, user_id);
CREATE INDEX step_up_challenges_session ON step_up_challenges (tenant_id, session_id, created_at, id);
CREATE INDEX step_up_challenges_created ON step_up_challenges (created_at);

CREATE TABLE step_up_tokens (
    tenant_id TEXT NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    session_id TEXT COLLATE "C" NOT NULL,
    purpose TEXT NOT NULL,
    factor TEXT NOT NULL,
    ip TEXT NOT NULL,
    issued_at TIMESTAMP NOT NULL,
    expires_at TIMESTAMP NOT NULL,
    used_at TIMESTAMP,
    revoked_at TIMESTAMP,
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX step_up_tokens_user ON step_up_tokens (tenant_id, user_id, purpose, issued_at, id) WHERE used_at IS NULL AND revoked_at IS NULL;
CREATE INDEX step_up_tokens_session ON step_up_tokens (tenant_id, session_id) WHERE used_at IS NULL AND revoked_at IS NULL;
CREATE INDEX step_up_tokens_expires ON step_up_tokens (expires_at);
