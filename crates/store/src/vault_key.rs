//! The key of the secrets, and where it is stored.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::str::FromStr;

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};

use crate::private_file::{self, random_bytes};
use crate::secrets::Secret;
use crate::{Error, Store};

/// 32 bytes, written as 64 hexadecimal digits.
#[derive(Clone, PartialEq, Eq)]
pub struct VaultKey([u8; Self::LENGTH]);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a secrets key must be 64 hexadecimal digits")]
pub struct VaultKeyError;

/// Stores the key outside the database. It is read only when a secret is opened or sealed.
pub trait KeyStore: fmt::Debug + Send + Sync {
    fn read(&self) -> Result<Option<VaultKey>, Error>;
    fn write(&self, key: &VaultKey) -> Result<(), Error>;
    /// Succeeds even if there is no key.
    fn remove(&self) -> Result<(), Error>;
    /// A description of the key store for errors.
    fn location(&self) -> String;
}

/// A file that only its owner can read: next to the database, or in the data directory if the
/// database is on a server.
#[derive(Debug, Clone)]
pub struct KeyFile {
    path: PathBuf,
}

impl Store {
    pub fn key_file(&self) -> KeyFile {
        KeyFile {
            path: self.address.data_directory().join("secret.key"),
        }
    }
}

impl KeyStore for KeyFile {
    fn read(&self) -> Result<Option<VaultKey>, Error> {
        match std::fs::read(&self.path) {
            Ok(bytes) => self.parse_bytes(bytes).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(Error::file_error("read", &self.path, source)),
        }
    }

    fn write(&self, key: &VaultKey) -> Result<(), Error> {
        private_file::write_atomically(&self.path, &key.0)
            .map_err(|source| Error::file_error("create", &self.path, source))
    }

    fn remove(&self) -> Result<(), Error> {
        private_file::remove_if_present(&self.path)
    }

    fn location(&self) -> String {
        format!("`{}`", self.path.display())
    }
}

impl KeyFile {
    fn parse_bytes(&self, bytes: Vec<u8>) -> Result<VaultKey, Error> {
        let found = bytes.len();
        let bytes = bytes.try_into().map_err(|_| Error::WrongLength {
            location: self.location(),
            found,
        })?;
        Ok(VaultKey(bytes))
    }
}

impl VaultKey {
    const LENGTH: usize = 32;

    pub(crate) fn random() -> Self {
        Self(random_bytes())
    }

    /// The digits, for a key store that stores text. They must not be shown.
    pub fn reveal(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Returns the nonce, the ciphertext and its tag, which can be opened only for the same name.
    pub(crate) fn seal(&self, name: &str, value: &Secret) -> Vec<u8> {
        let mut text = value.reveal().to_owned().into_bytes();
        let nonce = self
            .cipher()
            .seal_in_place_append_tag(Aad::from(name), &mut text);
        let mut sealed = nonce
            .expect("a secret is no longer than the cipher takes")
            .as_ref()
            .to_vec();
        sealed.extend(text);
        sealed
    }

    pub(crate) fn open(&self, name: &str, mut sealed: Vec<u8>) -> Option<Secret> {
        let (nonce, text) = sealed.split_at_mut_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let opened = self
            .cipher()
            .open_in_place(nonce, Aad::from(name), text)
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
        let pairs = text.trim().as_bytes().chunks(2);
        let bytes: Option<Vec<u8>> = pairs.map(parse_byte).collect();
        bytes
            .and_then(|bytes| bytes.try_into().ok())
            .map(Self)
            .ok_or(VaultKeyError)
    }
}

fn parse_byte(digits: &[u8]) -> Option<u8> {
    let [high, low] = digits else { return None };
    Some((parse_digit(*high)? << 4) | parse_digit(*low)?)
}

fn parse_digit(byte: u8) -> Option<u8> {
    let digit = char::from(byte).to_digit(16)?;
    u8::try_from(digit).ok()
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
