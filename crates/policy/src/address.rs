//! The addresses to which a request may be sent: a guard against SSRF.
//!
//! A host name chosen by a server or a model can lead anywhere: to a service that trusts this
//! machine, to other machines in its network, or to the metadata service of a cloud, which returns
//! credentials. So only addresses of the public internet are permitted; the operator must permit
//! any other in the configuration.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// The addresses that are permitted in addition to the public internet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AddressRules {
    /// This machine and its networks. Link-local addresses and cloud metadata services are not
    /// included: they must be named.
    pub private: bool,
    pub networks: Vec<Network>,
}

/// A range of addresses, such as `10.0.0.0/8`, or a single one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network(IpNet);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{address} is {kind}")]
pub struct AddressDenial {
    pub address: IpAddr,
    pub kind: AddressKind,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is neither an address nor a range of addresses")]
pub struct NetworkError {
    pub text: String,
}

/// The kind of an address outside the public internet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressKind {
    Unspecified,
    Loopback,
    Private,
    Carrier,
    LinkLocal,
    Metadata,
    Multicast,
    Broadcast,
    Documentation,
    Reserved,
}

impl AddressRules {
    pub fn check(&self, address: IpAddr) -> Result<(), AddressDenial> {
        let inner = embedded_v4(address).map(IpAddr::V4);
        if self.is_named(address) || inner.is_some_and(|inner| self.is_named(inner)) {
            return Ok(());
        }
        match special_kind(address) {
            Some(kind) if !(self.private && kind.is_private()) => {
                Err(AddressDenial { address, kind })
            }
            _ => Ok(()),
        }
    }

    /// True if the operator named a network that contains this address.
    fn is_named(&self, address: IpAddr) -> bool {
        let mut networks = self.networks.iter();
        networks.any(|network| network.0.contains(&address))
    }
}

/// Returns the kind of the address, or of the IPv4 address embedded in it.
fn special_kind(address: IpAddr) -> Option<AddressKind> {
    match address {
        IpAddr::V4(address) => special_kind_v4(address),
        // These two look like an embedded 0.0.0.0 and 0.0.0.1.
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => Some(AddressKind::Unspecified),
        IpAddr::V6(Ipv6Addr::LOCALHOST) => Some(AddressKind::Loopback),
        IpAddr::V6(six) => match embedded_v4(address) {
            Some(four) => special_kind_v4(four),
            None => special_kind_v6(six),
        },
    }
}

fn special_kind_v4(address: Ipv4Addr) -> Option<AddressKind> {
    V4.iter()
        .find(|(network, _)| network.contains(&address))
        .map(|(_, kind)| *kind)
}

/// Only 2000::/3 is allocated, so all addresses outside of it are special.
fn special_kind_v6(address: Ipv6Addr) -> Option<AddressKind> {
    let special = V6
        .iter()
        .find(|(network, _)| network.contains(&address))
        .map(|(_, kind)| *kind);
    special.or_else(|| (!GLOBAL.contains(&address)).then_some(AddressKind::Reserved))
}

/// Returns the IPv4 address embedded in an IPv6 one, in the formats that routers and gateways
/// translate.
fn embedded_v4(address: IpAddr) -> Option<Ipv4Addr> {
    let IpAddr::V6(address) = address else {
        return None;
    };
    match address.segments() {
        // Mapped, compatible, translated, and the well-known prefix of NAT64.
        [0, 0, 0, 0, 0, 0xffff | 0, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        // 6to4.
        | [0x2002, high, low, ..]
        // ISATAP, under any prefix.
        | [_, _, _, _, 0 | 0x200, 0x5efe, high, low] => Some(join_segments(high, low)),
        _ => None,
    }
}

fn join_segments(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low))
}

/// The first match counts, so single addresses come before the ranges around them.
const V4: &[(Ipv4Net, AddressKind)] = &[
    (v4([169, 254, 169, 254], 32), AddressKind::Metadata),
    (v4([169, 254, 170, 0], 24), AddressKind::Metadata),
    (v4([100, 100, 100, 200], 32), AddressKind::Metadata),
    (v4([192, 0, 0, 192], 32), AddressKind::Metadata),
    (v4([168, 63, 129, 16], 32), AddressKind::Metadata),
    (v4([0, 0, 0, 0], 8), AddressKind::Unspecified),
    (v4([127, 0, 0, 0], 8), AddressKind::Loopback),
    (v4([10, 0, 0, 0], 8), AddressKind::Private),
    (v4([172, 16, 0, 0], 12), AddressKind::Private),
    (v4([192, 168, 0, 0], 16), AddressKind::Private),
    (v4([100, 64, 0, 0], 10), AddressKind::Carrier),
    (v4([169, 254, 0, 0], 16), AddressKind::LinkLocal),
    (v4([192, 0, 2, 0], 24), AddressKind::Documentation),
    (v4([198, 51, 100, 0], 24), AddressKind::Documentation),
    (v4([203, 0, 113, 0], 24), AddressKind::Documentation),
    (v4([192, 0, 0, 0], 24), AddressKind::Reserved),
    (v4([192, 88, 99, 0], 24), AddressKind::Reserved),
    (v4([198, 18, 0, 0], 15), AddressKind::Reserved),
    (v4([224, 0, 0, 0], 4), AddressKind::Multicast),
    (v4([255, 255, 255, 255], 32), AddressKind::Broadcast),
    (v4([240, 0, 0, 0], 4), AddressKind::Reserved),
];

const V6: &[(Ipv6Net, AddressKind)] = &[
    (
        v6([0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0], 32),
        AddressKind::Metadata,
    ),
    (
        v6([0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254], 128),
        AddressKind::Metadata,
    ),
    (v6([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7), AddressKind::Private),
    (v6([0xfec0, 0, 0, 0, 0, 0, 0, 0], 10), AddressKind::Private),
    (
        v6([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10),
        AddressKind::LinkLocal,
    ),
    (v6([0xff00, 0, 0, 0, 0, 0, 0, 0], 8), AddressKind::Multicast),
    (
        v6([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32),
        AddressKind::Documentation,
    ),
    (
        v6([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20),
        AddressKind::Documentation,
    ),
    // Teredo, benchmarks and identifiers that are not addresses.
    (v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 23), AddressKind::Reserved),
];

const GLOBAL: Ipv6Net = v6([0x2000, 0, 0, 0, 0, 0, 0, 0], 3);

const fn v4([a, b, c, d]: [u8; 4], length: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), length)
}

const fn v6([a, b, c, d, e, f, g, h]: [u16; 8], length: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, c, d, e, f, g, h), length)
}

impl AddressKind {
    fn is_private(self) -> bool {
        matches!(self, Self::Loopback | Self::Private | Self::Carrier)
    }
}

impl fmt::Display for AddressKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unspecified => "an unspecified address",
            Self::Loopback => "a loopback address",
            Self::Private => "a private address",
            Self::Carrier => "an address inside a carrier's network",
            Self::LinkLocal => "a link-local address",
            Self::Metadata => "the address of a cloud's metadata service",
            Self::Multicast => "a multicast address",
            Self::Broadcast => "the broadcast address",
            Self::Documentation => "an address for documentation",
            Self::Reserved => "a reserved address",
        })
    }
}

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Self, NetworkError> {
        let network = text.parse::<IpNet>();
        let found = network.or_else(|_| text.parse::<IpAddr>().map(IpNet::from));
        found.map(Self).map_err(|_| NetworkError {
            text: text.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rules are separated by spaces: `private`, or networks.
    #[track_caller]
    fn check(rules: &str, addresses: &str, expected: Option<AddressKind>) {
        let mut parsed = AddressRules::default();
        for word in rules.split_whitespace() {
            match word {
                "private" => parsed.private = true,
                network => parsed.networks.push(network.parse().unwrap()),
            }
        }
        for address in addresses.split_whitespace() {
            let address: IpAddr = address.parse().unwrap();
            let found = parsed.check(address).err().map(|denial| denial.kind);
            assert_eq!(found, expected, "{address} under `{rules}`");
        }
    }

    #[test]
    fn addresses_of_the_public_internet_are_permitted() {
        check(
            "",
            "1.1.1.1 8.8.8.8 93.184.216.34 172.15.255.255 172.32.0.0 100.63.255.255 100.128.0.0",
            None,
        );
        check(
            "",
            "128.0.0.1 169.253.255.255 192.0.1.1 198.17.255.255 198.20.0.0 223.255.255.255",
            None,
        );
        check(
            "",
            "2606:4700::1111 2a00:1450:4001::200e 2001:200::1 3ffe:ffff::1",
            None,
        );
    }

    #[test]
    fn special_ipv4_ranges_are_denied_up_to_their_edges() {
        check(
            "",
            "0.0.0.0 0.0.0.1 0.255.255.255",
            Some(AddressKind::Unspecified),
        );
        check(
            "",
            "127.0.0.1 127.0.0.0 127.1.2.3 127.255.255.255",
            Some(AddressKind::Loopback),
        );
        check(
            "",
            "10.0.0.0 10.255.255.255 172.16.0.0 172.31.255.255 192.168.0.0 192.168.255.255",
            Some(AddressKind::Private),
        );
        check("", "100.64.0.0 100.127.255.255", Some(AddressKind::Carrier));
        check(
            "",
            "169.254.0.0 169.254.169.253 169.254.255.255",
            Some(AddressKind::LinkLocal),
        );
        check(
            "",
            "169.254.169.254 169.254.170.2 169.254.170.23 100.100.100.200 192.0.0.192 168.63.129.16",
            Some(AddressKind::Metadata),
        );
        check(
            "",
            "192.0.2.1 198.51.100.7 203.0.113.255",
            Some(AddressKind::Documentation),
        );
        check(
            "",
            "224.0.0.1 239.255.255.255",
            Some(AddressKind::Multicast),
        );
        check("", "255.255.255.255", Some(AddressKind::Broadcast));
        check(
            "",
            "192.0.0.1 192.88.99.1 198.18.0.0 198.19.255.255 240.0.0.1",
            Some(AddressKind::Reserved),
        );
    }

    #[test]
    fn special_ipv6_addresses_are_denied() {
        check("", "::", Some(AddressKind::Unspecified));
        check("", "::1", Some(AddressKind::Loopback));
        check("", "fc00::1 fdff::1 fec0::1", Some(AddressKind::Private));
        check("", "fe80::1 febf::1", Some(AddressKind::LinkLocal));
        check(
            "",
            "fd00:ec2::254 fd00:ec2::23 fd20:ce::254",
            Some(AddressKind::Metadata),
        );
        check("", "ff02::1 ff0e::1", Some(AddressKind::Multicast));
        check("", "2001:db8::1 3fff::1", Some(AddressKind::Documentation));
        check(
            "",
            "2001::1 2001:2::1 100::1 64:ff9b:1::1 4000::1 5f00::1 e000::1",
            Some(AddressKind::Reserved),
        );
    }

    #[test]
    fn embedded_ipv4_addresses_are_denied_too() {
        check(
            "",
            "::ffff:127.0.0.1 ::127.0.0.1 ::ffff:0:127.0.0.1 64:ff9b::7f00:1",
            Some(AddressKind::Loopback),
        );
        check(
            "",
            "2002:7f00:1:: 2606:4700::5efe:7f00:1 2606:4700::200:5efe:7f00:1",
            Some(AddressKind::Loopback),
        );
        check(
            "",
            "::ffff:10.0.0.1 ::10.0.0.1 64:ff9b::a00:1 2002:a00:1::5",
            Some(AddressKind::Private),
        );
        check(
            "",
            "::ffff:169.254.169.254 64:ff9b::a9fe:a9fe 2002:a9fe:a9fe::",
            Some(AddressKind::Metadata),
        );
        check("", "::ffff:8.8.8.8 64:ff9b::808:808 2002:808:808::1", None);
    }

    #[test]
    fn private_permits_only_this_machine_and_its_networks() {
        check(
            "private",
            "127.0.0.1 ::1 10.1.2.3 192.168.1.1 100.64.0.1 fd12::1 ::ffff:10.0.0.1",
            None,
        );
        check(
            "private",
            "169.254.1.1 fe80::1",
            Some(AddressKind::LinkLocal),
        );
        check(
            "private",
            "169.254.169.254 100.100.100.200 fd00:ec2::254",
            Some(AddressKind::Metadata),
        );
        check("private", "0.0.0.0 ::", Some(AddressKind::Unspecified));
    }

    #[test]
    fn a_named_network_is_permitted_and_its_neighbours_are_not() {
        check(
            "10.1.0.0/16 127.0.0.2",
            "10.1.2.3 127.0.0.2 ::ffff:10.1.2.3 64:ff9b::a01:203",
            None,
        );
        check("10.1.0.0/16", "10.2.0.0", Some(AddressKind::Private));
        check("127.0.0.2", "127.0.0.1 ::1", Some(AddressKind::Loopback));
        check(
            "169.254.169.254/32 fd00:ec2::/32",
            "169.254.169.254 fd00:ec2::254",
            None,
        );
        check("fe80::/10", "fe80::1", None);
        check("::/0", "10.0.0.1", Some(AddressKind::Private));
    }

    #[test]
    fn a_denial_names_the_kind_of_the_address() {
        let denial = AddressRules::default()
            .check("169.254.169.254".parse().unwrap())
            .unwrap_err();
        assert_eq!(
            denial.to_string(),
            "169.254.169.254 is the address of a cloud's metadata service"
        );
        assert_eq!(
            "10.0.0.0/40".parse::<Network>().unwrap_err().to_string(),
            "`10.0.0.0/40` is neither an address nor a range of addresses"
        );
    }
}
