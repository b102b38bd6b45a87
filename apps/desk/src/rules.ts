/**
 * The shop's rules on money: days since delivery for what is sent back and for what is faulty, the largest refund in EUR
 * that needs nobody's consent, and how late a parcel may be before a colleague looks for it, in days. The agent is told
 * them; the books themselves refuse only what can never be right.
 */
export const rules = { returnDays: 30, warrantyDays: 180, refundLimit: 250, lateDays: 7 } as const
