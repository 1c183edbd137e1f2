//! Checks that modules of `gate`, `store` and the binary have no import cycles.
//!
//! Each file is a module. An edge leads from it to the file that defines an imported name; re-exports
//! (`pub use`) are followed to the definition.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use syn::{Item, ItemUse, UseTree, Visibility, visit::Visit};

use crate::support::files_below;

type Name = Vec<String>;

/// The imports and exports of a file.
#[derive(Default)]
struct Named {
    /// Its child modules.
    children: BTreeSet<String>,
    /// Re-exported names and their paths.
    handed_on: BTreeMap<String, Name>,
    /// Imported paths.
    used: Vec<Name>,
}

/// Collects the paths of a `use` and the names that they bind.
fn paths(tree: &UseTree, before: &[String], found: &mut Vec<(Name, String)>) {
    let with = |segment: String| [before, &[segment]].concat();
    match tree {
        UseTree::Path(path) => paths(&path.tree, &with(path.ident.to_string()), found),
        UseTree::Name(name) => found.push((with(name.ident.to_string()), name.ident.to_string())),
        UseTree::Rename(name) => found.push((with(name.ident.to_string()), name.rename.to_string())),
        UseTree::Glob(_) => found.push((before.to_vec(), "*".to_owned())),
        UseTree::Group(group) => {
            for tree in &group.items {
                paths(tree, before, found);
            }
        }
    }
}

fn is_test(item: &syn::ItemMod) -> bool {
    let is_cfg_test = |attribute: &syn::Attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("test"))
    };
    item.attrs.iter().any(is_cfg_test)
}

impl<'ast> Visit<'ast> for Named {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_test(item) {
            self.children.insert(item.ident.to_string());
            syn::visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let mut found = Vec::new();
        paths(&item.tree, &[], &mut found);
        for (path, name) in found {
            match item.vis {
                Visibility::Inherited => self.used.push(path),
                _ => drop(self.handed_on.insert(name, path)),
            }
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.segments.len() > 1 {
            self.used.push(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        }
        syn::visit::visit_path(self, path);
    }
}

struct Graph(BTreeMap<Name, Named>);

impl Graph {
    fn of(source: &Path) -> Self {
        let mut modules = BTreeMap::new();
        for path in files_below(source, "rs") {
            let file = syn::parse_file(&std::fs::read_to_string(&path).unwrap()).unwrap();
            let mut named = Named::default();
            named.visit_file(&file);
            for item in &file.items {
                if let Item::Mod(child) = item {
                    named.children.insert(child.ident.to_string());
                }
            }
            modules.insert(name_of(path.strip_prefix(source).unwrap()), named);
        }
        Self(modules)
    }

    /// Resolves a path in module `from`. Returns the module, and the remaining path within it.
    fn resolve(&self, from: &Name, path: &[String]) -> Option<(Name, Name)> {
        let mut rest = path.iter().peekable();
        let first = rest.peek()?.as_str();
        let mut module = match first {
            "crate" => {
                rest.next();
                Name::new()
            }
            "self" => {
                rest.next();
                from.clone()
            }
            "super" => {
                let mut above = from.clone();
                while rest.next_if(|segment| *segment == "super").is_some() {
                    above.pop()?;
                }
                above
            }
            child if self.0[from].children.contains(child) => from.clone(),
            _ => return None,
        };
        while let Some(segment) = rest.peek() {
            let inner = [module.as_slice(), &[(*segment).clone()]].concat();
            if !self.0.contains_key(&inner) {
                break;
            }
            module = inner;
            rest.next();
        }
        Some((module, rest.cloned().collect()))
    }

    /// Returns the module that defines the name at a path.
    fn defined_in(&self, from: &Name, path: &[String]) -> Option<Name> {
        let (mut module, mut rest) = self.resolve(from, path)?;
        while let Some(handed_on) = rest.first().and_then(|name| self.0[&module].handed_on.get(name)) {
            let Some((next, left)) = self.resolve(&module, handed_on) else { break };
            rest = [left, rest[1..].to_vec()].concat();
            module = next;
        }
        Some(module)
    }

    /// Returns the modules on import cycles, each with its edges.
    fn cycle(&self) -> BTreeMap<Name, BTreeSet<Name>> {
        let arrows = |from: &Name, named: &Named| {
            let to = named.used.iter().filter_map(|path| self.defined_in(from, path));
            to.filter(|to| to != from).collect::<BTreeSet<_>>()
        };
        let mut left: BTreeMap<Name, BTreeSet<Name>> =
            self.0.iter().map(|(from, named)| (from.clone(), arrows(from, named))).collect();
        loop {
            let ends: Vec<Name> =
                left.iter().filter(|(_, to)| to.is_empty()).map(|(from, _)| from.clone()).collect();
            if ends.is_empty() {
                return left;
            }
            left.retain(|from, _| !ends.contains(from));
            for to in left.values_mut() {
                to.retain(|name| !ends.contains(name));
            }
        }
    }
}

fn name_of(file: &Path) -> Name {
    let mut name: Name =
        file.with_extension("").iter().map(|part| part.to_str().unwrap().to_owned()).collect();
    if ["lib", "main", "mod"].iter().any(|root| name.last().is_some_and(|last| last == root)) {
        name.pop();
    }
    name
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}

#[test]
fn modules_have_no_import_cycles() {
    for source in ["crates/gate/src", "crates/store/src", "bins/gatehouse/src"] {
        let graph = Graph::of(&root().join(source));
        assert!(graph.0.len() > 10, "{source} was not read");
        let cycle = graph.cycle();
        assert!(cycle.is_empty(), "{source}: {cycle:#?}");
    }
}

#[test]
fn import_cycle_is_found() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("lib.rs"), "mod a;\nmod b;\nmod c;\npub use a::A;\n").unwrap();
    std::fs::write(folder.path().join("a.rs"), "pub struct A;\nfn f() { crate::b::g() }\n").unwrap();
    std::fs::write(folder.path().join("b.rs"), "use crate::A;\npub fn g() {}\n").unwrap();
    std::fs::write(folder.path().join("c.rs"), "use crate::A;\n").unwrap();
    let cycle = Graph::of(folder.path()).cycle();
    let name = |name: &str| vec![name.to_owned()];
    assert_eq!(cycle.get(&name("a")), Some(&BTreeSet::from([name("b")])));
    assert_eq!(cycle.get(&name("b")), Some(&BTreeSet::from([name("a")])));
}
