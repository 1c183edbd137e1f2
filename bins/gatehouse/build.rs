//! Rebuilds the program when a file is added to the assets, which are embedded.

fn main() {
    println!("cargo::rerun-if-changed=assets");
}
