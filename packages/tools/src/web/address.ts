import { BlockList, isIP } from 'node:net'

/** Of IANA's special-purpose registries: what is not the public internet, and the metadata services that look as if. */
const special4: readonly (readonly [string, number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  // Carrier-grade NAT, and the metadata service of Alibaba Cloud.
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  // Link-local, and the metadata services of most clouds.
  ['169.254.0.0', 16],
  // Azure's host: public by its number only.
  ['168.63.129.16', 32],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.31.196.0', 24],
  ['192.52.193.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['192.175.48.0', 24],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  // Multicast, reserved, broadcast.
  ['224.0.0.0', 3],
]

/** Within the global unicast space of IPv6. */
const special6: readonly (readonly [string, number])[] = [
  // Protocol assignments, Teredo and ORCHID among them.
  ['2001::', 23],
  ['2001:db8::', 32],
  // 6to4 carries an IPv4 address.
  ['2002::', 16],
  ['2620:4f:8000::', 48],
  ['3fff::', 20],
]

const refused4 = new BlockList()
for (const [network, prefix] of special4) refused4.addSubnet(network, prefix, 'ipv4')

const refused6 = new BlockList()
for (const [network, prefix] of special6) refused6.addSubnet(network, prefix, 'ipv6')

const unicast6 = new BlockList()
unicast6.addSubnet('2000::', 3, 'ipv6')

/**
 * Returns whether an address is in the public internet. Private, loopback, link-local, shared, multicast, reserved,
 * documentation and invalid addresses are not. IPv6 forms that carry an IPv4 address (mapped, compatible, NAT64, 6to4,
 * Teredo) are not either.
 */
export function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !refused4.check(address, 'ipv4')
    case 6:
      // A zone makes sense for local addresses only.
      return !address.includes('%') && unicast6.check(address, 'ipv6') && !refused6.check(address, 'ipv6')
    default:
      return false
  }
}
