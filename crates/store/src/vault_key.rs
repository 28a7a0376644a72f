//! The key that secrets are encrypted under, and where it is kept.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::str::FromStr;

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};

use crate::pepper::{self, random};
use crate::secrets::Secret;
use crate::{Error, Store};

/// 32 bytes, written as 64 hexadecimal digits.
#[derive(Clone, PartialEq, Eq)]
pub struct VaultKey([u8; Self::LENGTH]);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a key for secrets is 64 hexadecimal digits")]
pub struct VaultKeyError;

/// A place for the key outside the database. Looked at only when a secret is opened or sealed.
pub trait KeyKeeper: fmt::Debug + Send + Sync {
    fn read(&self) -> Result<Option<VaultKey>, Error>;
    fn write(&self, key: &VaultKey) -> Result<(), Error>;
    /// Nothing there is fine as well.
    fn remove(&self) -> Result<(), Error>;
    /// As a sentence about it names it.
    fn place(&self) -> String;
}

/// A file beside the database that only its owner can read.
#[derive(Debug, Clone)]
pub struct KeyFile {
    path: PathBuf,
}

impl Store {
    pub fn key_file(&self) -> KeyFile {
        KeyFile {
            path: self.path.with_file_name("secret.key"),
        }
    }
}

impl KeyKeeper for KeyFile {
    fn read(&self) -> Result<Option<VaultKey>, Error> {
        match std::fs::read(&self.path) {
            Ok(bytes) => {
                bytes
                    .try_into()
                    .map(|bytes| Some(VaultKey(bytes)))
                    .map_err(|bytes: Vec<u8>| Error::WrongLength {
                        path: self.path.clone(),
                        found: bytes.len(),
                    })
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(self.failed("read", source)),
        }
    }

    fn write(&self, key: &VaultKey) -> Result<(), Error> {
        pepper::write(&self.path, &key.0).map_err(|source| self.failed("create", source))
    }

    fn remove(&self) -> Result<(), Error> {
        match std::fs::remove_file(&self.path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(self.failed("remove", source))
            }
            _ => Ok(()),
        }
    }

    fn place(&self) -> String {
        format!("`{}`", self.path.display())
    }
}

impl KeyFile {
    fn failed(&self, action: &'static str, source: io::Error) -> Error {
        Error::File {
            action,
            path: self.path.clone(),
            source,
        }
    }
}

impl VaultKey {
    const LENGTH: usize = 32;

    pub(crate) fn random() -> Self {
        Self(random())
    }

    /// As it is written down where text is kept. Not for showing.
    pub fn reveal(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The nonce, then the text and its tag. It opens only for the place it was sealed for.
    pub(crate) fn seal(&self, place: &str, value: &Secret) -> Vec<u8> {
        let mut text = value.reveal().to_owned().into_bytes();
        let nonce = self
            .cipher()
            .seal_in_place_append_tag(Aad::from(place), &mut text);
        let mut sealed = nonce
            .expect("a secret is no longer than the cipher takes")
            .as_ref()
            .to_vec();
        sealed.extend(text);
        sealed
    }

    pub(crate) fn open(&self, place: &str, mut sealed: Vec<u8>) -> Option<Secret> {
        let (nonce, text) = sealed.split_at_mut_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let opened = self
            .cipher()
            .open_in_place(nonce, Aad::from(place), text)
            .ok()?;
        String::from_utf8(opened.to_vec()).ok().map(Secret::new)
    }

    fn cipher(&self) -> RandomizedNonceKey {
        RandomizedNonceKey::new(&AES_256_GCM, &self.0)
            .expect("the key has the length of the cipher")
    }
}

impl FromStr for VaultKey {
    type Err = VaultKeyError;

    fn from_str(text: &str) -> Result<Self, VaultKeyError> {
        let digits = text.trim().as_bytes();
        let digit = |byte: &u8| {
            char::from(*byte)
                .to_digit(16)
                .and_then(|digit| u8::try_from(digit).ok())
        };
        let bytes: Option<Vec<u8>> = digits
            .chunks(2)
            .map(|pair| Some((digit(pair.first()?)? << 4) | digit(pair.get(1)?)?))
            .collect();
        bytes
            .and_then(|bytes| bytes.try_into().ok())
            .map(Self)
            .ok_or(VaultKeyError)
    }
}

impl fmt::Debug for VaultKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("VaultKey(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_64_digits_and_nothing_else() {
        let key: VaultKey = "aB".repeat(32).parse().unwrap();
        assert_eq!(key.reveal(), "ab".repeat(32));
        assert!(!format!("{key:?}").contains("ab"));
        for text in ["", "ab", "zz".repeat(32).as_str(), "ab".repeat(33).as_str()] {
            assert!(text.parse::<VaultKey>().is_err(), "{text}");
        }
    }
}
