// Policies, guards, budgets and audits.
export * from '@provost/governance'
