//! Audit events other than calls: rejected callers, and changes by an operator.

use crate::{KeyId, Origin, ShortText, Tenant, Timestamp};

/// A rejection or a change, with its actor and its subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub at: Timestamp,
    pub action: Action,
    /// The tenant that the event concerns, if there is one.
    pub tenant: Option<Tenant>,
    pub key: Option<KeyId>,
    /// The acting user of the operating system.
    pub actor: Option<ShortText>,
    /// The acting program.
    pub client: Option<ShortText>,
    pub origin: Origin,
    /// The name of the rejected or changed thing, such as a secret's name. Never a secret itself.
    pub subject: ShortText,
    /// Further facts.
    pub detail: Option<ShortText>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// A client presented an unknown or revoked key.
    KeyRefused,
    KeyCreated,
    KeyRevoked,
    KeyRotated,
    SecretSet,
    SecretRemoved,
    /// The key that encrypts the secrets was replaced or moved.
    SecretKeyChanged,
    CredentialSet,
    CredentialRemoved,
    /// The operator logged in at a server, for every caller that uses it through this gateway.
    LoggedIn,
    LoggedOut,
    /// The operator trusted the servers of a project.
    ProjectTrusted,
    ProjectWithdrawn,
    /// The operator copied another store, or a backup, into this one.
    StoreCopied,
    /// The operator approved a learned template for answering requests.
    TemplateApproved,
    TemplateRemoved,
    /// The operator imported a template, which waits for approval.
    TemplateImported,
    /// The operator deleted lessons.
    LessonsForgotten,
    LessonsImported,
    /// The operator marked a result of a search as right or wrong.
    ResultMarked,
    /// The operator approved definitions of a server, or revoked their approval.
    LockChanged,
    /// The operator imported facts into the context plane.
    FactsImported,
    FactsForgotten,
    /// The operator resolved a report of an agent.
    FeedbackResolved,
    /// The operator stopped a server and started it again.
    ServerRestarted,
    /// The operator computed the priors of tools.
    PriorsComputed,
    /// A command changed the configuration file.
    ConfigurationEdited,
    /// A running gateway loaded another configuration.
    ConfigurationLoaded,
}

impl Event {
    /// Returns an event of a user at this machine, or of the gateway itself.
    pub fn new(at: Timestamp, action: Action, subject: &str) -> Self {
        Self {
            at,
            action,
            tenant: None,
            key: None,
            actor: None,
            client: None,
            origin: Origin::default(),
            subject: ShortText::truncate(subject),
            detail: None,
        }
    }
}

impl Action {
    pub const ALL: [Self; 28] = [
        Self::KeyRefused,
        Self::KeyCreated,
        Self::KeyRevoked,
        Self::KeyRotated,
        Self::SecretSet,
        Self::SecretRemoved,
        Self::SecretKeyChanged,
        Self::CredentialSet,
        Self::CredentialRemoved,
        Self::LoggedIn,
        Self::LoggedOut,
        Self::ProjectTrusted,
        Self::ProjectWithdrawn,
        Self::StoreCopied,
        Self::TemplateApproved,
        Self::TemplateRemoved,
        Self::TemplateImported,
        Self::LessonsForgotten,
        Self::LessonsImported,
        Self::ResultMarked,
        Self::LockChanged,
        Self::FactsImported,
        Self::FactsForgotten,
        Self::FeedbackResolved,
        Self::ServerRestarted,
        Self::PriorsComputed,
        Self::ConfigurationEdited,
        Self::ConfigurationLoaded,
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
            Self::CredentialSet => "credential_set",
            Self::CredentialRemoved => "credential_removed",
            Self::LoggedIn => "logged_in",
            Self::LoggedOut => "logged_out",
            Self::ProjectTrusted => "project_trusted",
            Self::ProjectWithdrawn => "project_withdrawn",
            Self::StoreCopied => "store_copied",
            Self::TemplateApproved => "template_approved",
            Self::TemplateRemoved => "template_removed",
            Self::TemplateImported => "template_imported",
            Self::LessonsForgotten => "lessons_forgotten",
            Self::LessonsImported => "lessons_imported",
            Self::ResultMarked => "result_marked",
            Self::LockChanged => "lock_changed",
            Self::FactsImported => "facts_imported",
            Self::FactsForgotten => "facts_forgotten",
            Self::FeedbackResolved => "feedback_resolved",
            Self::ServerRestarted => "server_restarted",
            Self::PriorsComputed => "priors_computed",
            Self::ConfigurationEdited => "configuration_edited",
            Self::ConfigurationLoaded => "configuration_in_force",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|action| action.as_str() == text)
    }
}
