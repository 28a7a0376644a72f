//! What happened beside calls and belongs into the record: who was turned away, and what an
//! operator changed.

use crate::{KeyId, Origin, ShortText, Tenant, Timestamp};

/// Something that was refused or changed, by whom, and what it was about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub at: Timestamp,
    pub action: Action,
    /// The tenant it concerns, where it concerns one.
    pub tenant: Option<Tenant>,
    pub key: Option<KeyId>,
    /// The user of the operating system who did it.
    pub actor: Option<ShortText>,
    /// The program that did it.
    pub client: Option<ShortText>,
    pub origin: Origin,
    /// What it was about, such as the name of a secret. Never a secret itself.
    pub subject: ShortText,
    /// What else there is to say of it.
    pub detail: Option<ShortText>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// A client came with a key that opens nothing.
    KeyRefused,
    KeyCreated,
    KeyRevoked,
    KeyRotated,
    SecretSet,
    SecretRemoved,
    /// The key that secrets are encrypted under is another one, or elsewhere.
    SecretKeyChanged,
    /// The operator logged in at a server, for every caller who uses it from here.
    LoggedIn,
    LoggedOut,
    /// The servers that a project brings along are in force in its folder.
    ProjectTrusted,
    ProjectWithdrawn,
    /// The file was changed by a verb of the command line.
    ConfigurationEdited,
    /// A running gateway works by another configuration from then on.
    ConfigurationInForce,
}

impl Event {
    /// Of something that a person or the gateway did here.
    pub fn new(at: Timestamp, action: Action, subject: &str) -> Self {
        Self {
            at,
            action,
            tenant: None,
            key: None,
            actor: None,
            client: None,
            origin: Origin::default(),
            subject: ShortText::cut(subject),
            detail: None,
        }
    }
}

impl Action {
    pub const ALL: [Self; 13] = [
        Self::KeyRefused,
        Self::KeyCreated,
        Self::KeyRevoked,
        Self::KeyRotated,
        Self::SecretSet,
        Self::SecretRemoved,
        Self::SecretKeyChanged,
        Self::LoggedIn,
        Self::LoggedOut,
        Self::ProjectTrusted,
        Self::ProjectWithdrawn,
        Self::ConfigurationEdited,
        Self::ConfigurationInForce,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::KeyRefused => "key_refused",
            Self::KeyCreated => "key_created",
            Self::KeyRevoked => "key_revoked",
            Self::KeyRotated => "key_rotated",
            Self::SecretSet => "secret_set",
            Self::SecretRemoved => "secret_removed",
            Self::SecretKeyChanged => "secret_key_changed",
            Self::LoggedIn => "logged_in",
            Self::LoggedOut => "logged_out",
            Self::ProjectTrusted => "project_trusted",
            Self::ProjectWithdrawn => "project_withdrawn",
            Self::ConfigurationEdited => "configuration_edited",
            Self::ConfigurationInForce => "configuration_in_force",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|action| action.as_str() == text)
    }
}
