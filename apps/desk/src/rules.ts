/**
 * The shop's rules on money. Days since delivery for returns and for faulty goods; the largest refund in EUR without
 * approval; and the delay in days after which a colleague looks for a parcel. The agent receives them; the books reject
 * only impossible amounts.
 */
export const rules = { returnDays: 30, warrantyDays: 180, refundLimit: 250, lateDays: 7 } as const
