//! Policies: which witnesses have to cosign a checkpoint (C2SP tlog-policy).

use std::{
    collections::{HashMap, HashSet},
    str::FromStr,
};

use kernel::Timestamp;

use super::cosignature::{Cosignature, CosignerKey, cosignatures};
use crate::{
    error::NoteError,
    log::{Checkpoint, CheckpointKey},
};

/// The quorum that no witness is needed for.
const NONE: &str = "none";
/// Maximum number of lines.
const MAX_LINES: usize = 1_000;

/// A witness of a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Witness {
    /// Its name in the policy.
    pub name: String,
    /// The key of its cosignatures.
    pub key: CosignerKey,
    /// Where it takes requests for cosignatures (`<url>/add-checkpoint`).
    pub url: Option<String>,
}

/// The witnesses that are needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Quorum {
    /// None.
    None,
    /// The witness at this index of [`WitnessPolicy::witnesses`].
    Witness(usize),
    /// At least `threshold` of the members.
    Group {
        /// How many members.
        threshold: usize,
        /// The members.
        members: Vec<Quorum>,
    },
}

impl Quorum {
    fn is_met(&self, has: &HashSet<usize>) -> bool {
        match self {
            Self::None => true,
            Self::Witness(witness) => has.contains(witness),
            Self::Group { threshold, members } => {
                members.iter().filter(|member| member.is_met(has)).count() >= *threshold
            }
        }
    }
}

/// Which logs are known, and which witnesses have to cosign their checkpoints.
///
/// ```
/// use audit::log::witness::WitnessPolicy;
///
/// let policy: WitnessPolicy = "# One witness.\n\
///     witness auditor other.example/w+9e8235ef+BBOY9ixtGkV8UbpqS189vS9p/KkyFiGNyJl+QWvRfZPK\n\
///     quorum auditor\n"
///     .parse()?;
/// assert_eq!(policy.witnesses()[0].name, "auditor");
/// # Ok::<(), audit::log::witness::PolicyError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WitnessPolicy {
    logs: Vec<CheckpointKey>,
    witnesses: Vec<Witness>,
    quorum: Quorum,
}

/// A checkpoint that meets a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Witnessed {
    /// The checkpoint.
    pub checkpoint: Checkpoint,
    /// The valid cosignatures of the policy's witnesses.
    pub cosignatures: Vec<Cosignature>,
}

/// Why a policy is malformed, or a checkpoint does not meet it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// A line of the policy is malformed.
    #[error("line {line}: {problem}")]
    Line {
        /// Number of the line, from 1.
        line: usize,
        /// What is wrong.
        problem: &'static str,
    },
    /// The policy has no line with the quorum.
    #[error("there is no quorum; add a line such as: quorum none")]
    NoQuorum,
    /// The checkpoint or one of its cosignatures is invalid.
    #[error("{0}")]
    Note(#[from] NoteError),
    /// Too few witnesses have cosigned the checkpoint.
    #[error("too few witnesses have cosigned the checkpoint: {}", if .0.is_empty() { "none".to_owned() } else { .0.join(", ") })]
    Quorum(Vec<String>),
}

impl WitnessPolicy {
    /// Returns the witnesses in the order of the policy.
    pub fn witnesses(&self) -> &[Witness] {
        &self.witnesses
    }

    /// Returns the keys of the logs that the policy names.
    pub fn logs(&self) -> &[CheckpointKey] {
        &self.logs
    }

    /// Returns the time of each witness's newest valid cosignature, and whether they suffice.
    fn cosigned(&self, note: &str) -> Result<(Vec<Cosignature>, bool), NoteError> {
        let keys: Vec<CosignerKey> = self.witnesses.iter().map(|witness| witness.key.clone()).collect();
        let found = cosignatures(note, &keys)?;
        let has = |key: &CosignerKey| keys.iter().position(|known| known == key);
        let has = found.iter().filter_map(|cosignature| has(&cosignature.key)).collect();
        Ok((found, self.quorum.is_met(&has)))
    }

    /// Verifies that a checkpoint is signed by a log of the policy, or by one of `keys`, and cosigned by the quorum.
    pub fn verify(&self, note: &str, keys: &[CheckpointKey]) -> Result<Witnessed, PolicyError> {
        let keys: Vec<CheckpointKey> = self.logs.iter().chain(keys).cloned().collect();
        let checkpoint = Checkpoint::verified(note, &keys)?;
        let (cosignatures, is_met) = self.cosigned(note)?;
        if is_met {
            return Ok(Witnessed { checkpoint, cosignatures });
        }
        let name = |witness: &&Witness| cosignatures.iter().any(|cosignature| cosignature.key == witness.key);
        Err(PolicyError::Quorum(self.witnesses.iter().filter(name).map(|one| one.name.clone()).collect()))
    }
}

impl Witnessed {
    /// Returns the time of the oldest of the cosignatures; `None` without any.
    pub fn oldest(&self) -> Option<Timestamp> {
        self.cosignatures.iter().map(|cosignature| cosignature.at).min()
    }
}

impl FromStr for WitnessPolicy {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Self, PolicyError> {
        let mut reader = Reader::default();
        for (index, line) in text.split('\n').enumerate() {
            let problem = |problem| PolicyError::Line { line: index + 1, problem };
            if index >= MAX_LINES {
                return Err(problem("the policy is too long"));
            }
            reader.read(line).map_err(problem)?;
        }
        let Reader { logs, witnesses, quorum, .. } = reader;
        Ok(Self { logs, witnesses, quorum: quorum.ok_or(PolicyError::NoQuorum)? })
    }
}

/// What the lines so far define.
#[derive(Default)]
struct Reader {
    logs: Vec<CheckpointKey>,
    witnesses: Vec<Witness>,
    /// Witnesses and groups by name.
    named: HashMap<String, Quorum>,
    /// Those that are members of a group.
    taken: HashSet<String>,
    quorum: Option<Quorum>,
}

impl Reader {
    fn read(&mut self, line: &str) -> Result<(), &'static str> {
        if line.contains(|letter: char| letter.is_ascii_control() && letter != '\t') {
            return Err("control characters are not allowed");
        }
        let words: Vec<&str> = line.split([' ', '\t']).filter(|word| !word.is_empty()).collect();
        match words.as_slice() {
            [] => Ok(()),
            [first, ..] if first.starts_with('#') => Ok(()),
            ["log", key] | ["log", key, _] => self.log(key),
            ["witness", name, key] => self.witness(name, key, None),
            ["witness", name, key, url] => self.witness(name, key, Some(url)),
            ["group", name, threshold, members @ ..] => self.group(name, threshold, members),
            ["quorum", name] => self.set_quorum(name),
            _ => Err("write log, witness, group or quorum, with their words"),
        }
    }

    fn log(&mut self, key: &str) -> Result<(), &'static str> {
        let key = CheckpointKey::parse(key).ok_or("not the public key of a log")?;
        if self.logs.iter().any(|known| known.public() == key.public()) {
            return Err("the log is defined twice");
        }
        self.logs.push(key);
        Ok(())
    }

    fn witness(&mut self, name: &str, key: &str, url: Option<&str>) -> Result<(), &'static str> {
        let key = CosignerKey::parse(key).ok_or("not the public key of a witness")?;
        if self.witnesses.iter().any(|known| known.key.public() == key.public()) {
            return Err("the witness is defined twice");
        }
        self.define(name, Quorum::Witness(self.witnesses.len()))?;
        self.witnesses.push(Witness { name: name.to_owned(), key, url: url.map(str::to_owned) });
        Ok(())
    }

    fn group(&mut self, name: &str, threshold: &str, members: &[&str]) -> Result<(), &'static str> {
        let mut found = Vec::new();
        for member in members {
            found.push(self.named.get(*member).cloned().ok_or("a member is not defined above")?);
            if !self.taken.insert((*member).to_owned()) {
                return Err("a member belongs to two groups");
            }
        }
        let threshold = match threshold {
            "any" => 1,
            "all" => found.len(),
            number => number
                .parse()
                .ok()
                .filter(|threshold: &usize| threshold.to_string() == number)
                .ok_or("write any, all or a number after the name of a group")?,
        };
        if threshold == 0 || threshold > found.len() {
            return Err("a group needs between 1 and all of its members");
        }
        self.define(name, Quorum::Group { threshold, members: found })
    }

    fn define(&mut self, name: &str, quorum: Quorum) -> Result<(), &'static str> {
        match self.named.insert(name.to_owned(), quorum) {
            None if name != NONE => Ok(()),
            _ => Err("the name is taken"),
        }
    }

    fn set_quorum(&mut self, name: &str) -> Result<(), &'static str> {
        let named = if name == NONE { Some(Quorum::None) } else { self.named.get(name).cloned() };
        let quorum = named.ok_or("the quorum is not defined above")?;
        if self.quorum.replace(quorum).is_some() { Err("there are two quorums") } else { Ok(()) }
    }
}
