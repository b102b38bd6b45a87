export { cedarRule } from './cedar-rule.ts'
export type { CedarRule, CedarRuleOptions } from './cedar-rule.ts'
export type { Fact } from './cedar-schema.ts'
