/**
 * Returns the id of the n-th delivery of an inbox: its number in digits, so that ids sort like numbers.
 *
 * @param n from 1, in the order in which deliveries become visible to readers.
 * @param digits length of the id; default 12. It never changes for stored deliveries: logs mention their ids.
 *
 * @example
 * deliveryId(17) // '000000000017'
 */
export function deliveryId(n: number, digits = 12): string {
  return String(n).padStart(digits, '0')
}
