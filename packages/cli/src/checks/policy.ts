import { policyCommand } from '@provost/governance/policy-command'

import { installed } from '../project/installed.ts'

/**
 * `provost policy test LOG…` and `provost policy report LOG…`. The exit codes are those of `policyCommand`: 2 a log cannot
 * be read or its audit is broken, 3 a policy or an argument is invalid.
 */
export function policy(args: readonly string[]): Promise<number> {
  const auditKey = process.env['PROVOST_AUDIT_KEY']
  return policyCommand(args, {
    formats: {
      async '.cedar'(text, tools) {
        const { cedarRule } = await installed('@provost/policy-cedar', () => import('@provost/policy-cedar'))
        return cedarRule({ policy: text, tools })
      },
    },
    ...(auditKey && { auditKey }),
  })
}
