//! `cargo xtask citus`: the product on a distributed database.

use std::path::PathBuf;

use clap::Subcommand;
use xtask::{
    citus::{self, Nodes},
    cluster::Durability,
    sh::{self, Result, cargo},
};

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Build and install the extension from a source folder
    Build {
        /// Unpacked source of Citus 13.2.2
        source: PathBuf,
    },
    /// Run a coordinator and two workers until Ctrl-C and print the variables for tests
    Db,
    /// Run the tests of the storage layer and of the server on a coordinator and two workers
    Test {
        /// Run only the tests whose names contain this text
        name: Option<String>,
    },
}

pub(crate) fn run(command: Command) -> Result<()> {
    match command {
        Command::Build { source } => citus::build(&source),
        Command::Db => serve(),
        Command::Test { name } => test(name.as_deref()),
    }
}

fn serve() -> Result<()> {
    let nodes = Nodes::start(2, Durability::None)?;
    for (name, value) in nodes.variables() {
        println!("export {name}={value}");
    }
    println!("Ctrl-C ends them and removes their data");
    loop {
        std::thread::park();
    }
}

fn test(name: Option<&str>) -> Result<()> {
    let nodes = Nodes::start(2, Durability::None)?;
    let mut command = cargo();
    command.args([
        "test",
        "--locked",
        "--package",
        "store",
        "--package",
        "gatehouse",
        "--features",
        "gatehouse/otlp",
    ]);
    command.args(["--no-fail-fast", "--"]).args(name).envs(nodes.variables());
    sh::run(&mut command)
}
