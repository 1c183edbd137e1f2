# Shortcuts for every day. `just` alone lists them.

default:
    @just --list

# Build, make a demo tenant, serve on localhost:8080
up:
    cargo xtask up

# Everything CI checks, on both databases
test:
    cargo xtask test

# A throw-away PostgreSQL until Ctrl-C; prints the variable that `cargo test` needs
db:
    cargo xtask db

# One crate, quickly
check crate:
    cargo clippy --package {{crate}} --all-targets

# The request path beside its floors
bench *rows:
    cargo xtask bench path {{rows}}

# Kills, slow networks, full disks
chaos *name:
    cargo xtask chaos {{name}}

# The pages in Chromium; pictures in target/browser
browser:
    cargo build --package gatehouse && cargo xtask browser

# Write the API description again after a change that clients can see
openapi:
    cargo run --quiet -- openapi > docs/openapi.json

# Accept what the compiler now says about the ways around Access
compile-fail:
    TRYBUILD=overwrite cargo test --package gatehouse --test server compile_fail
