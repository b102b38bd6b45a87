import { policyUsage } from '@provost/governance/policy-usage'

import { exitCodes } from '../command/command.ts'

/**
 * `provost policy test LOG…` and `provost policy report LOG…`. The exit codes are those of `policyCommand`: 2 a log cannot
 * be read or its audit is broken, 3 a policy or an argument is invalid.
 */
export async function policy(args: readonly string[]): Promise<number> {
  if (args.includes('--help')) {
    process.stdout.write(policyUsage)
    return exitCodes.ok
  }
  const { policyCommand } = await import('@provost/governance/policy-command')
  const auditKey = process.env['PROVOST_AUDIT_KEY']
  return policyCommand(args, {
    formats: {
      async '.cedar'(text, tools) {
        const { installed } = await import('../project/installed.ts')
        const { cedarRule } = await installed('@provost/policy-cedar', () => import('@provost/policy-cedar'))
        return cedarRule({ policy: text, tools })
      },
    },
    ...(auditKey && { auditKey }),
  })
}
