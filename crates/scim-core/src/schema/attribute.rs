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
    /// An object with sub-attributes.
    Complex,
}

/// Who may change it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutability {
    /// The client.
    ReadWrite,
    /// The service alone; what a client sends is ignored.
    ReadOnly,
    /// The client, and nobody reads it.
    WriteOnly,
}

/// When it is in an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Returned {
    /// Unless excluded.
    Default,
    /// In no answer.
    Never,
}

/// Whether two resources may have the same value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Uniqueness {
    /// They may.
    None,
    /// Not within the tenant.
    Server,
}

/// One attribute.
#[derive(Debug, Clone, Copy)]
pub struct Attribute {
    /// The name as it is written; read in any case.
    pub name: &'static str,
    /// One sentence.
    pub description: &'static str,
    /// Its data type.
    pub kind: Type,
    /// Whether it is an array.
    pub multi_valued: bool,
    /// Whether a resource must have it.
    pub required: bool,
    /// Whether case matters when it is compared.
    pub case_exact: bool,
    /// Who may change it.
    pub mutability: Mutability,
    /// When it is answered.
    pub returned: Returned,
    /// Whether it is unique.
    pub uniqueness: Uniqueness,
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
            case_exact: false,
            mutability: Mutability::ReadWrite,
            returned: Returned::Default,
            uniqueness: Uniqueness::None,
            canonical_values: &[],
            max_length: Self::MAX_LENGTH,
            sub_attributes: &[],
        }
    }

    pub(crate) const fn text(name: &'static str, description: &'static str) -> Self {
        Self::new(name, Type::String, description)
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

    pub(crate) const fn mutability(self, mutability: Mutability) -> Self {
        Self { mutability, ..self }
    }

    /// The attribute of this name, in any case.
    pub fn find<'a>(attributes: &'a [Self], name: &str) -> Option<&'a Self> {
        attributes.iter().find(|attribute| attribute.name.eq_ignore_ascii_case(name))
    }
}
