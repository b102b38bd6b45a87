/** The command `policy`: its parts are functions of `@provost/governance`. */
export { policyCommand } from './offline/policy-command.ts'
export type { PolicyCommandOptions } from './offline/policy-command.ts'
export type { PolicyFormat } from './offline/policy-file.ts'
