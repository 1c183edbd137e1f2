//! An attribute and its characteristics (RFC 7643 §2.2).

/// The data type (RFC 7643 §2.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// Text.
    String,
    /// `true` or `false`.
    Boolean,
    /// A URI.
    Reference,
    /// A point in time (RFC 3339).
    DateTime,
    /// An object with sub-attributes.
    Complex,
}

/// Who may write the attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutability {
    /// The client may read and write it.
    ReadWrite,
    /// Only the service may write it; values from clients are ignored.
    ReadOnly,
    /// The client may set it once, together with the value that contains it.
    Immutable,
    /// The client may write it, but nobody can read it.
    WriteOnly,
}

/// When the attribute is returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Returned {
    /// In every response, whatever the client requests.
    Always,
    /// Returned unless `excludedAttributes` names it.
    Default,
    /// In no response.
    Never,
}

/// Whether two resources may have the same value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Uniqueness {
    /// Values may repeat.
    None,
    /// Values are unique within the tenant.
    Server,
}

/// An attribute definition (RFC 7643, section 7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "the characteristics of RFC 7643 §2.2")]
pub struct Attribute {
    /// The canonical name; matched without regard to case.
    pub name: &'static str,
    /// Description for `/Schemas`.
    pub description: &'static str,
    /// Its data type.
    pub kind: Type,
    /// Whether it has several values.
    pub multi_valued: bool,
    /// Whether every resource must have it.
    pub required: bool,
    /// Whether the service sets a default when the client omits it.
    pub has_default: bool,
    /// Whether comparisons are case-sensitive.
    pub case_exact: bool,
    /// Who may write it.
    pub mutability: Mutability,
    /// When it is returned.
    pub returned: Returned,
    /// Whether it is unique.
    pub uniqueness: Uniqueness,
    /// The resource types that a reference may refer to.
    pub refers_to: &'static [&'static str],
    /// Suggested values for clients.
    pub canonical_values: &'static [&'static str],
    /// Maximum length of a text, in characters.
    pub max_length: usize,
    /// The sub-attributes of a complex attribute.
    pub sub_attributes: &'static [Attribute],
}

impl Attribute {
    /// The default maximum length of a text, in characters.
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

    /// Returns the attribute with this name, ignoring case.
    pub fn find<'a>(attributes: &'a [Self], name: &str) -> Option<&'a Self> {
        attributes.iter().find(|attribute| attribute.name.eq_ignore_ascii_case(name))
    }
}
