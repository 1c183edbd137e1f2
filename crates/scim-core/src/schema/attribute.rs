//! One attribute and its characteristics (RFC 7643 §2.2).

/// The data type (RFC 7643 §2.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// Text.
    String,
    /// `true` or `false`.
    Boolean,
    /// A URI.
    Reference,
    /// A point in time, RFC 3339.
    DateTime,
    /// An object with sub-attributes.
    Complex,
}

/// Who may change it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutability {
    /// The client may read and write it.
    ReadWrite,
    /// The service alone; what a client sends is ignored.
    ReadOnly,
    /// The client, once: with the value it is part of.
    Immutable,
    /// The client, and nobody reads it.
    WriteOnly,
}

/// When it is in an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Returned {
    /// Whatever the client asks for.
    Always,
    /// Returned unless `excludedAttributes` names it.
    Default,
    /// In no answer.
    Never,
}

/// Whether two resources may have the same value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Uniqueness {
    /// Values may repeat.
    None,
    /// Not within the tenant.
    Server,
}

/// An attribute definition (RFC 7643, section 7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "the characteristics of RFC 7643 §2.2")]
pub struct Attribute {
    /// The name as it is written; read in any case.
    pub name: &'static str,
    /// Description for `/Schemas`.
    pub description: &'static str,
    /// Its data type.
    pub kind: Type,
    /// Whether it is an array.
    pub multi_valued: bool,
    /// Whether a resource must have it.
    pub required: bool,
    /// Whether a new resource has it also when the client does not send it.
    pub has_default: bool,
    /// Whether case matters when it is compared.
    pub case_exact: bool,
    /// Who may change it.
    pub mutability: Mutability,
    /// When it is answered.
    pub returned: Returned,
    /// Whether it is unique.
    pub uniqueness: Uniqueness,
    /// What a reference refers to.
    pub refers_to: &'static [&'static str],
    /// Values that clients are advised to use.
    pub canonical_values: &'static [&'static str],
    /// Characters that a text may have at most.
    pub max_length: usize,
    /// The attributes of a complex one.
    pub sub_attributes: &'static [Attribute],
}

impl Attribute {
    /// The longest text of an attribute that says nothing else, in characters.
    pub const MAX_LENGTH: usize = 2048;

    pub(crate) const fn new(name: &'static str, kind: Type, description: &'static str) -> Self {
        Self {
            name,
            description,
            kind,
            multi_valued: false,
            required: false,
            has_default: false,
            case_exact: false,
            mutability: Mutability::ReadWrite,
            returned: Returned::Default,
            uniqueness: Uniqueness::None,
            refers_to: &[],
            canonical_values: &[],
            max_length: Self::MAX_LENGTH,
            sub_attributes: &[],
        }
    }

    pub(crate) const fn text(name: &'static str, description: &'static str) -> Self {
        Self::new(name, Type::String, description)
    }

    pub(crate) const fn reference(
        name: &'static str,
        refers_to: &'static [&'static str],
        description: &'static str,
    ) -> Self {
        Self { refers_to, case_exact: true, ..Self::new(name, Type::Reference, description) }
    }

    pub(crate) const fn time(name: &'static str, description: &'static str) -> Self {
        Self::new(name, Type::DateTime, description).read_only()
    }

    pub(crate) const fn complex(
        name: &'static str,
        sub_attributes: &'static [Self],
        description: &'static str,
    ) -> Self {
        Self { sub_attributes, ..Self::new(name, Type::Complex, description) }
    }

    pub(crate) const fn multi(self) -> Self {
        Self { multi_valued: true, ..self }
    }

    pub(crate) const fn max(self, max_length: usize) -> Self {
        Self { max_length, ..self }
    }

    pub(crate) const fn exact(self) -> Self {
        Self { case_exact: true, ..self }
    }

    pub(crate) const fn canonical(self, canonical_values: &'static [&'static str]) -> Self {
        Self { canonical_values, ..self }
    }

    pub(crate) const fn read_only(self) -> Self {
        Self { mutability: Mutability::ReadOnly, ..self }
    }

    pub(crate) const fn immutable(self) -> Self {
        Self { mutability: Mutability::Immutable, ..self }
    }

    pub(crate) const fn returned(self, returned: Returned) -> Self {
        Self { returned, ..self }
    }

    pub(crate) const fn unique(self) -> Self {
        Self { uniqueness: Uniqueness::Server, ..self }
    }

    pub(crate) const fn required(self) -> Self {
        Self { required: true, ..self }
    }

    /// The attribute of this name, in any case.
    pub fn find<'a>(attributes: &'a [Self], name: &str) -> Option<&'a Self> {
        attributes.iter().find(|attribute| attribute.name.eq_ignore_ascii_case(name))
    }
}
